import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { sha256OfFile } from '../../../../pipelines/archive/local-copies.ts';
import { openArchive } from '../../../../pipelines/archive/open.ts';
import { refuseCorrection } from '../../../../pipelines/editions/corrections.ts';
import { recordEditionPartitions } from '../../../../pipelines/editions/editions.ts';
import { ensureHead } from '../../../../pipelines/editions/heads.ts';
import { type CliStage, insertEdition, insertPublication, makeCliStage } from '../../../support/process/cli-stage.ts';

const register = 'sancionados';
let stage: CliStage;

beforeAll(async () => {
  stage = await makeCliStage(inject('endpoints'));
  const { pool } = stage;
  await ensureHead(pool, register);
  for (const [number, day] of ['2026-11-20', '2026-11-21', '2026-11-22'].entries()) {
    const publication = await insertPublication(pool, { register, state: 'publicada', fecha_dato: day });
    const counts: Record<string, number> =
      number === 0 ? { baseline: 9, stateRows: 9 } : { updated: 1_234, stateRows: 9 };
    const steps = number === 2 ? 1 : 3;
    await insertEdition(pool, { register, number: number + 1, publication, fechaDato: day, counts, steps });
  }
  await recordEditionPartitions(pool, register, 2, [
    { partition: 0, rows: 5, end_offset: 14 },
    { partition: 1, rows: 7, end_offset: 16 },
  ]);
});
afterAll(() => stage.close());

const editions = (...words: string[]) => stage.padron('editions', ...words);
const document = <Answer>(...words: string[]) => stage.document<Answer>('editions', ...words);

test('list: newest first, each with how far it is', async () => {
  const { stdout } = await editions('list', '--register', register);
  expect(stdout.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^sancionados 3 {2}2026-11-22 {2}12 changes {2}published {2}detected 2026-11-22T/),
    expect.stringMatching(/^sancionados 2 {2}2026-11-21 {2}12 changes {2}notified {2}detected /),
    expect.stringMatching(/^sancionados 1 {2}2026-11-20 {2}12 changes {2}notified {2}detected /),
  ]);
  expect(await document<unknown[]>('list', '--limit', '1')).toMatchObject([{ register, number: 3, corrects: null }]);
  expect((await editions('list', '--register', 'padron_reducido')).stdout).toBe('No editions yet.\n');
  expect(await document('list', '--register', 'padron_reducido')).toEqual([]);
});

test('show: counts, where it ends in Kafka, its files and its gates', async () => {
  expect((await editions('show', register, '2')).stdout.split('\n').slice(1)).toEqual([
    '  from publication #2',
    '  stateRows: 9',
    '  updated: 1,234',
    `  change file ${'cd'.repeat(32)}`,
    '  no overlay: the state is the publication',
    '  partition 0: 5 rows, ends at 14',
    '  partition 1: 7 rows, ends at 16',
    '  no gate has judged it yet',
    '',
  ]);
  expect(await document('show', register, '2')).toMatchObject({
    ...{ number: 2, corrected_by: null, gates: [], partitions: [{ partition: 0 }, { partition: 1, end_offset: 16 }] },
  });
  await stage.expectRefused(
    ['editions', 'show', register, '9'],
    /sancionados has no edition 9\.\nSee them with: .*--register/,
  );
  await stage.expectRefused(['editions', 'show', register, 'dos'], /"dos" is not a whole number/);
});

test('revert --wait ends with 2 when the worker refuses the order, and it may then be given again', async () => {
  const waiting = editions('revert', register, '2', '--reason', 'wrong file', '--wait', '--timeout', '60');
  await expect
    .poll(async () => (await stage.pool.query(`SELECT id FROM correction WHERE state = 'pedida'`)).rows.length, {
      timeout: 30_000,
    })
    .toBe(1);
  const { rows } = await stage.pool.query<{ id: number }>('SELECT id FROM correction');
  await refuseCorrection(stage.pool, rows[0]!.id, 'its change file is gone');
  const { code, stdout, stderr } = await waiting;
  expect([code, stdout]).toEqual([2, 'sancionados 2 is to be undone  rechazada  its change file is gone\n']);
  expect(stderr).toContain(`correction ${rows[0]!.id}: rechazada (its change file is gone)`);
  const { stdout: shown } = await editions('show', register, '2');
  expect(shown).toContain('to be undone, rechazada (its change file is gone), ordered by operator (wrong file)');
});

test('revert --wait ends with 0 when the correction is an edition that is materialised and notified', async () => {
  const waiting = document<{ id: number; state: string; edition: number }>(
    ...['revert', register, '2', '--reason', 'wrong file', '--by', 'Ana Ruiz'],
  );
  const { id } = await waiting;
  const rejectsSha256 = await archivedConflicts();
  await stage.pool.query(`UPDATE correction SET state = 'publicada', edition = 4, compare_result = $2 WHERE id = $1`, [
    id,
    JSON.stringify({ counts: { conflicts: 2 }, rejectsSha256 }),
  ]);
  await insertEdition(stage.pool, { register, number: 4, publication: null, corrects: 2, fechaDato: '2026-11-22' });
  const { stdout } = await editions('show', register, '2');
  expect(stdout).toContain('undone by edition 4, ordered by Ana Ruiz (wrong file)');
  expect((await editions('show', register, '4')).stdout).toContain('undoes edition 2');
  expect((await editions('list', '--limit', '1')).stdout).toMatch(/12 changes {2}undoes 2 {2}notified/);
});

/** Three rows that the correction left as they are, two of them listed. */
async function archivedConflicts(): Promise<string> {
  const file = join(stage.folder, 'conflicts.ndjson');
  const lines = [
    { reason: 'changed_since', ruc: '10990000019' },
    { reason: 'changed_since', ruc: '20990000019' },
    { omitted: 1 },
  ];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const sha256 = await sha256OfFile(file);
  const archive = await openArchive(stage.environment.ARCHIVE_URL!, stage.environment.WORK_DIR!);
  await archive.put({ register, kind: 'rejects', sha256 }, file);
  return sha256;
}

test('show --conflicts lists what a correction left as it is, with the RUCs of persons masked', async () => {
  const shown = await document<{ conflicts: unknown }>('show', register, '4', '--conflicts');
  expect(shown.conflicts).toEqual({
    lines: [
      { line: null, reason: 'changed_since', ruc: '10*******19' },
      { line: null, reason: 'changed_since', ruc: '20990000019' },
    ],
    omitted: 1,
  });
  const { stdout } = await editions('show', register, '4', '--conflicts');
  expect(stdout).toMatch(/changed_since +10\*{7}19\n +changed_since +20990000019\n {2}and 1 more\n$/);
  await stage.expectRefused(
    ['editions', 'show', register, '1', '--conflicts'],
    /Edition 1 of sancionados is no correction/,
  );
});

test('republish of an edition that is still being produced is refused; one that waits for its rows is produced again', async () => {
  const third = { text: ['editions', 'republish', register, '3'] };
  await stage.pool.query('UPDATE edition SET publicada_at = NULL WHERE register = $1 AND number = 3', [register]);
  await stage.expectRefused(third.text, /edition 3 of sancionados is still being published/);
  await stage.pool.query('UPDATE edition SET publicada_at = now() WHERE register = $1 AND number = 3', [register]);
  expect((await stage.padron(...third.text)).stdout).toBe('Edition 3 of sancionados is to be published again.\n');
});
