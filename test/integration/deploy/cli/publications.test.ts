import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { ensureHead } from '../../../../pipelines/editions/heads.ts';
import { type CliStage, insertEdition, insertPublication, makeCliStage } from '../../../support/process/cli-stage.ts';
import { runPadron } from '../../../support/process/command.ts';

// Decisions of operators over a catalogue written by hand. The pipeline that carries them out is tested in workflows/.
const register = 'buenos_contribuyentes';
let stage: CliStage;
let published: number;

beforeAll(async () => {
  stage = await makeCliStage(inject('endpoints'));
  for (const name of [register, 'sancionados'] as const) await ensureHead(stage.pool, name);
  published = await insertPublication(stage.pool, { register, state: 'publicada', fecha_dato: '2026-11-20' });
  await insertEdition(stage.pool, { register, number: 1, publication: published, fechaDato: '2026-11-20' });
});
afterAll(() => stage.close());

const quarantined = (fecha_dato: string | null = '2026-11-21') =>
  insertPublication(stage.pool, { register, state: 'en_cuarentena', fecha_dato });
const publications = (...words: string[]) => stage.padron('publications', ...words);
const document = <Answer>(...words: string[]) => stage.document<Answer>('publications', ...words);

test('list: newest first, by register, by state, and as many as asked for', async () => {
  const other = await insertPublication(stage.pool, { register: 'sancionados', state: 'detectada' });
  const idsOf = async (...words: string[]) => (await document<{ id: number }[]>('list', ...words)).map(({ id }) => id);
  expect(await idsOf()).toEqual([other, published]);
  expect(await idsOf('--register', register)).toEqual([published]);
  expect(await idsOf('--state', 'detectada')).toEqual([other]);
  expect(await idsOf('--limit', '1')).toEqual([other]);
  expect((await publications('list', '--register', 'agentes_retencion')).stdout).toBe('No publications.\n');
  expect((await publications('list', '--limit', '2')).stdout).toBe(
    `#${other}  sancionados  no date  detectada\n#${published}  ${register}  2026-11-20  publicada  edition 1\n`,
  );
  await stage.expectRefused(['publications', 'list', '--state', 'lista'], /Allowed choices are detectada, descargada/);
});

test('list notes which of the listed registers are paused', async () => {
  await publications('pause', 'sancionados');
  expect((await publications('list')).stderr).toBe('sancionados is paused.\n');
  expect((await publications('list', '--register', register)).stderr).toBe('');
  await publications('resume', 'sancionados');
  expect((await publications('list')).stderr).toBe('');
});

test('show: who decided, and when its file left the archive', async () => {
  const id = await quarantined();
  await publications('reject', String(id), '--by', 'Ana Ruiz', '--reason', 'cut file');
  await stage.pool.query(`UPDATE publication SET removed_at = '2026-12-01T00:00:00Z' WHERE id = $1`, [id]);
  expect((await publications('show', String(id))).stdout.split('\n')).toEqual([
    `#${id}  ${register}  2026-11-21  rechazada  cut file`,
    '  decided by Ana Ruiz',
    '  its file left the archive on 2026-12-01T00:00:00.000Z',
    '  no gate has judged it yet',
    '',
  ]);
  await stage.expectRefused(
    ['publications', 'show', '999'],
    /no publication 999\.\nSee them with: .*publications list/,
  );
});

describe('approve and reject', () => {
  test('approve keeps who and why, and lets the publication go on; a second decision is refused', async () => {
    const id = String(await quarantined());
    const approved = await document('approve', id, '--by', 'Ana Ruiz', '--reason', 'yearly clean-up');
    expect(approved).toMatchObject({ state: 'descargada', decided_by: 'Ana Ruiz', state_reason: 'yearly clean-up' });
    for (const verb of ['approve', 'reject']) {
      await stage.expectRefused(
        ['publications', verb, id],
        new RegExp(`publication ${id} is descargada, not en_cuarentena\\.\nSee it with: .*publications show ${id}`),
      );
    }
  });

  test('a publication without a date needs one from the operator', async () => {
    const id = String(await quarantined(null));
    await stage.expectRefused(['publications', 'approve', id], /has no date: give it one with --date YYYY-MM-DD/);
    await stage.expectRefused(['publications', 'approve', id, '--date', '20-11-2026'], /"20-11-2026" is not a day/);
    expect(await document('approve', id, '--date', '2026-11-22')).toMatchObject({
      ...{ state: 'descargada', fecha_dato: '2026-11-22', decided_by: 'operator' },
    });
  });

  test('one that is older than the newest edition needs its day, else the exit code is 2 and it still waits', async () => {
    await stage.pool.query(
      `UPDATE register_head SET edition = 1, fecha_dato = '2026-11-20', published_at = '2026-11-20T07:38:00Z'
       WHERE register = $1`,
      [register],
    );
    try {
      const id = String(await quarantined('2026-11-19'));
      for (const [words, said] of [
        [
          [],
          /was published before the head .*give the day of its data with --date \(2026-11-20 or later\), or reject it/,
        ],
        [['--date', '2026-11-19'], /would have the older data of 2026-11-19, which never replaces edition 1/],
      ] as const) {
        const refused = await runPadron(['publications', 'approve', id, ...words], stage.environment);
        expect([refused.code, refused.stdout]).toEqual([2, '']);
        expect(refused.stderr).toMatch(said);
      }
      await stage.expectRefused(['publications', 'approve', id, '--date', '2999-01-01'], /2999-01-01 has not come/);
      expect(await document('show', id)).toMatchObject({ state: 'en_cuarentena', decided_by: null });
      expect(await document('approve', id, '--date', '2026-11-20')).toMatchObject({
        ...{ state: 'descargada', fecha_dato: '2026-11-20', published_at: '2026-11-20T07:38:00.000Z' },
      });
    } finally {
      await stage.pool.query(
        'UPDATE register_head SET edition = 0, fecha_dato = NULL, published_at = NULL WHERE register = $1',
        [register],
      );
    }
  });

  test('reject is the end of it, as a line and as a document', async () => {
    const id = String(await quarantined());
    expect((await publications('reject', id, '--reason', 'cut file')).stdout).toBe(
      `#${id}  ${register}  2026-11-21  rechazada  cut file\n`,
    );
    await stage.expectRefused(['publications', 'reject', '999'], /there is no publication 999\.\nSee them with/);
  });

  test('approve --wait follows it to its end: exit code 0 when it is notified, 2 when it is stopped again', async () => {
    for (const [state, code] of [
      ['repetida', 0],
      ['en_cuarentena', 2],
      ['sustituida', 2],
    ] as const) {
      const id = await quarantined();
      const waiting = publications('approve', String(id), '--wait', '--timeout', '60');
      // Stands for the worker: it settles the publication as soon as it is approved.
      await expect
        .poll(
          async () =>
            (
              await stage.pool.query(
                `UPDATE publication SET state = $2, state_reason = 'settled' WHERE id = $1 AND state = 'descargada'`,
                [id, state],
              )
            ).rowCount,
          { timeout: 30_000, interval: 50 },
        )
        .toBe(1);
      const ended = await waiting;
      expect([ended.code, ended.stdout]).toEqual([code, `#${id}  ${register}  2026-11-21  ${state}  settled\n`]);
      expect(ended.stderr).toContain('No worker runs: the work waits for one.');
      expect(ended.stderr).toContain(`publication ${id}: ${state} (settled)\n`);
      if (state === 'en_cuarentena')
        expect(ended.stderr).toContain(`It waits for a decision: npx padron publications show ${id}`);
    }
  });

  test('approve --wait of a paused register would wait for nothing: it is refused before anything changes', async () => {
    await publications('pause', register, '--by', 'Ana Ruiz');
    const id = await quarantined();
    await stage.expectRefused(['publications', 'approve', String(id), '--wait'], /is paused by Ana Ruiz: it makes no/);
    await publications('resume', register);
    expect(await document('show', String(id))).toMatchObject({ state: 'en_cuarentena', decided_by: null });
  });
});

test('run without --wait starts the fetches of several registers and shows them in their order', async () => {
  const runs = await document<{ outcome: string; workflow_id: string }[]>('run', register, 'sancionados', register);
  expect(runs.map(({ outcome }) => outcome)).toEqual(['started', 'started']);
  expect(runs[0]!.workflow_id).toMatch(new RegExp(`^fetch/${register}-`));
  expect(runs[1]!.workflow_id).toMatch(/^fetch\/sancionados-/);
  const again = await publications('run', register);
  expect(again.stdout).toBe(
    `${register} is being asked already (${runs[0]!.workflow_id}). It is asked once more when that has ended.\n`,
  );
  await stage.expectRefused(['publications', 'run', 'ruc'], /no register "ruc"\.\nRegisters: padron_reducido/);
  await stage.expectRefused(['publications', 'run'], /missing required argument 'registers'/);
});
