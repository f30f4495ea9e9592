import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { sha256OfFile } from '../../../../pipelines/archive/local-copies.ts';
import { openArchive } from '../../../../pipelines/archive/open.ts';
import { editionsBeyond, recordEditionPartitions } from '../../../../pipelines/editions/editions.ts';
import { recordReconciliation } from '../../../../pipelines/editions/freshness.ts';
import { ensureHead, recordProbe } from '../../../../pipelines/editions/heads.ts';
import { migratePostgres } from '../../../../pipelines/runtime/migrate.ts';
import { makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { type FreshDatabase, freshDatabase, freshNamespace } from '../../../support/engines/isolation.ts';
import { padronDocument, runCommand, runPadron, startPadron } from '../../../support/process/command.ts';

// Operators' commands over a catalogue that is written by hand. The pipeline itself is tested elsewhere.
const register = 'agentes_retencion';
const folder = mkdtempSync(join(tmpdir(), 'padron-cli-'));
let database: FreshDatabase;
let pool: Pool;
let environment: Record<string, string>;

const padron = (...words: string[]) => runCommand(words, environment);
const document = <Answer>(...words: string[]) => padronDocument<Answer>(words, environment, runCommand);

beforeAll(async () => {
  const endpoints = inject('endpoints');
  database = await freshDatabase(endpoints);
  await migratePostgres(database.DATABASE_URL);
  pool = makePool(database.DATABASE_URL, 'test', 2);
  environment = {
    PADRON_LOCAL_DIR: folder,
    DATABASE_URL: database.DATABASE_URL,
    TEMPORAL_ADDRESS: endpoints.TEMPORAL_ADDRESS,
    TEMPORAL_NAMESPACE: await freshNamespace(endpoints),
    ARCHIVE_URL: pathToFileURL(join(folder, 'archive')).href,
    WORK_DIR: join(folder, 'work'),
  };
  await ensureHead(pool, register);
  await recordProbe(pool, register);
  await fillCatalogue(await archivedRejects());
});
afterAll(async () => {
  await pool.end();
  await database.drop();
  rmSync(folder, { recursive: true });
});

async function archivedRejects(): Promise<string> {
  const file = join(folder, 'rejects.ndjson');
  const raw = (ruc: string, name: string) => `${ruc}|${name}|01/01/2020|RS 1|`;
  const lines = [
    { line: 7, reason: 'ruc_check_digit', raw: raw('10990000019', 'PERSONA NATURAL INVENTADA') },
    { line: 9, reason: 'duplicate', raw: raw('20990000019', 'EMPRESA INVENTADA S.A.C.') },
    { omitted: 3 },
  ];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const sha256 = await sha256OfFile(file);
  await (await openArchive(environment.ARCHIVE_URL!, environment.WORK_DIR!)).put(
    { register, kind: 'rejects', sha256 },
    file,
  );
  return sha256;
}

/** Editions 1 and 2, a third publication in quarantine, and a check that found differences. */
async function fillCatalogue(rejectsSha256: string): Promise<void> {
  const counts = { stateRows: 7_000, rows: 7_000, rejectedByReason: { ruc_check_digit: 1, duplicate: 4 } };
  const gate = {
    gate: 'rows',
    value: 0.4,
    limit: 0.8,
    passed: false,
    text: '2800 rows where the previous edition has 7000',
  };
  const days = ['2026-11-20', '2026-11-27', '2026-11-28'];
  for (const [index, day] of days.entries()) {
    const isEdition = index < 2;
    await pool.query(
      `INSERT INTO publication (register, sha256, fecha_dato, published_at, state, state_reason, rows, compare_result, gates)
       VALUES ($1, $2, $3, $3::date, $4, $5, 7000, $6, $7)`,
      [
        ...[register, `hash-${index}`, day, isEdition ? 'publicada' : 'en_cuarentena'],
        isEdition ? null : `gates: ${gate.text}`,
        isEdition && index === 0 ? null : JSON.stringify({ rejectsSha256: isEdition ? rejectsSha256 : null, counts }),
        JSON.stringify(isEdition ? [] : [gate]),
      ],
    );
    if (!isEdition) continue;
    const editionCounts = { ...counts, baseline: index === 0 ? 7_000 : 0, updated: index === 0 ? 0 : 12 };
    await pool.query(
      `INSERT INTO edition (register, number, publication_id, fecha_dato, published_at, detected_at, change_file_sha256,
         parser_version, columns, changes, counts, publicada_at, materializada_at, avisada_at)
       VALUES ($1, $2, $2, $3, $3::date, $3::date, $4, 1, '{}', 12, $5, now(), now(), now())`,
      [register, index + 1, day, 'cd'.repeat(32), JSON.stringify(editionCounts)],
    );
  }
  await pool.query(
    `UPDATE register_head SET edition = 2, fecha_dato = $2, published_at = now(), publication_sha256 = 'hash-1'
     WHERE register = $1`,
    [register, days[1]],
  );
  const reconciliation = { register, edition: 2, equal: false, rows: 7_000, differences: 1, detail: {} } as const;
  await recordReconciliation(pool, reconciliation);
}

test('registers: every register at a glance, in a table and as a document', async () => {
  const rows = await document<Record<string, unknown>[]>('registers');
  expect(rows).toHaveLength(7);
  expect(rows[2]).toMatchObject({
    ...{ register, edition: 2, fecha_dato: '2026-11-27', rows: 7_000, on_its_way: null, quarantined: 1 },
    last_publication: { id: 3, state: 'en_cuarentena' },
    last_reconciliation: { edition: 2, equal: false, differences: 1 },
  });
  expect(rows[0]).toMatchObject({
    register: 'padron_reducido',
    edition: 0,
    late: expect.arrayContaining(['it has no edition yet']),
  });
  const { stdout, stderr } = await padron('registers');
  expect(stderr).toBe('');
  expect(stdout).toMatch(/agentes_retencion +2 +2026-11-27 .* DIFFERS 0 min .*1 in quarantine/);
  expect(stdout).toContain(`npx padron verify --register ${register}`);
});

test('publications show: each gate with value, limit and whether it passed', async () => {
  const { stdout } = await padron('publications', 'show', '3');
  expect(stdout).toMatch(/FAILED {2}rows {2}0.4 {2}limit 0.8\n +2800 rows where/);
  const shown = await document<{ gates: unknown[] }>('publications', 'show', '3');
  expect(shown.gates).toEqual([expect.objectContaining({ gate: 'rows', value: 0.4, limit: 0.8, passed: false })]);
});

test('rejects: line, reason and masked RUC; the lines themselves only on demand and with a warning', async () => {
  const listed = await document<Record<string, unknown>>('rejects', '2');
  expect(listed).toEqual({
    ...{ publication: 2, register, counts: { ruc_check_digit: 1, duplicate: 4 }, omitted: 3 },
    lines: [
      { line: 7, reason: 'ruc_check_digit', ruc: '10*******19' },
      { line: 9, reason: 'duplicate', ruc: '20990000019' },
    ],
  });
  const shown = await padron('rejects', '2', '--limit', '1');
  expect(shown.stdout).toMatch(
    /^duplicate: 4\nruc_check_digit: 1\n {2}line 7 +ruc_check_digit +10\*{7}19\n {2}and 4 more/,
  );
  expect(shown.stdout).not.toContain('PERSONA');
  const raw = await padron('rejects', '2', '--raw');
  expect(raw.stdout.split('\n')[0]).toContain('10990000019|PERSONA NATURAL INVENTADA');
  expect(raw.stderr).toMatch(/natural persons/);
  expect((await padron('rejects', '3')).stdout).toMatch(/ruc_check_digit: 1/);
  expect((await padron('rejects', '1')).stdout).toMatch(/was not compared/);
  expect((await padron('rejects', '99')).stderr).toMatch(/no publication 99/);
});

test('pause and resume: who and why is kept and shown; a command would wait for nothing and says so', async () => {
  const order = ['--by', 'Ana Ruiz', '--reason', 'names look wrong'];
  expect(await document('publications', 'pause', register, ...order)).toMatchObject({
    ...{ register, paused_by: 'Ana Ruiz', paused_reason: 'names look wrong', paused_at: expect.any(String) },
  });
  expect((await padron('publications', 'pause', register)).stdout).toMatch(/was paused already/);
  expect((await padron('registers')).stdout).toMatch(/paused by Ana Ruiz: names look wrong/);
  expect((await padron('publications', 'list')).stderr).toContain(`${register} is paused`);
  const waiting = await padron('publications', 'run', register, '--wait');
  expect([waiting.code, waiting.stderr]).toEqual([
    1,
    expect.stringMatching(/paused by Ana Ruiz[\s\S]*publications resume/),
  ]);
  expect(await document('publications', 'resume', register)).toMatchObject({ register, paused_at: null });
  expect((await padron('publications', 'resume', register)).stdout).toMatch(/was not paused/);
});

test('editions revert: an order that can be carried out is kept once, any other is refused in words', async () => {
  const revert = (number: string) => padron('editions', 'revert', register, number, '--reason', 'another file');
  expect((await revert('1')).stderr).toMatch(/cannot be undone: it wrote rows that nothing stood before/);
  expect((await revert('9')).stderr).toMatch(/has no edition 9/);
  expect((await padron('editions', 'revert', register, '2')).stderr).toMatch(/--reason/);
  const order = await document('editions', 'revert', register, '2', '--reason', 'another file', '--by', 'Ana Ruiz');
  expect(order).toMatchObject({
    register,
    corrects: 2,
    state: 'pedida',
    requested_by: 'Ana Ruiz',
    reason: 'another file',
  });
  expect((await revert('2')).stderr).toMatch(/undone already, or about to be/);
  const { stdout } = await padron('editions', 'show', register, '2');
  expect(stdout).toMatch(
    /from publication #2[\s\S]*to be undone, pedida, ordered by Ana Ruiz \(another file\)[\s\S]*updated: 12/,
  );
  const shown = await document<Record<string, unknown>>('editions', 'show', register, '2');
  expect(shown).toMatchObject({ number: 2, corrects: null, corrected_by: { corrects: 2 }, partitions: [], gates: [] });
});

test('editions republish: one that waits to be materialised becomes open work again, any other is refused in words', async () => {
  const republish = (number: string) => padron('editions', 'republish', register, number);
  expect((await republish('2')).stderr).toMatch(/edition 2 of agentes_retencion is materialised/);
  expect((await republish('9')).stderr).toMatch(/has no edition 9/);
  await pool.query('UPDATE edition SET materializada_at = NULL, avisada_at = NULL WHERE register = $1 AND number = 2', [
    register,
  ]);
  await recordEditionPartitions(pool, register, 1, [{ partition: 0, rows: 7_000, end_offset: 7_000 }]);
  await recordEditionPartitions(pool, register, 2, [{ partition: 0, rows: 12, end_offset: 7_012 }]);
  expect(await editionsBeyond(pool, register, [7_012], 2)).toEqual([]);
  expect(await document('editions', 'republish', register, '2')).toMatchObject({ register, number: 2 });
  expect(await editionsBeyond(pool, register, [7_012], 2)).toEqual([2]);
});

test('each command has an example in its --help', async () => {
  const commands = [
    'registers',
    'rejects',
    'publications pause',
    'publications resume',
    'editions show',
    'editions revert',
    'editions republish',
  ];
  const helps = await Promise.all(commands.map((command) => padron(...command.split(' '), '--help')));
  for (const { code, stdout } of helps) {
    expect([code, stdout]).toEqual([0, expect.stringMatching(/Examples?:\n {2}\$ npx padron/)]);
  }
});

test('publications run: a command that gives up says so; a run that is under way is waited for', async () => {
  const other = await freshNamespace(inject('endpoints'));
  await ensureHead(pool, 'buenos_contribuyentes');
  // No worker works for this namespace, so the run never ends. A process would also show an error after its end.
  const words = ['publications', 'run', 'buenos_contribuyentes'];
  const run = (...more: string[]) => runPadron([...words, ...more], { ...environment, TEMPORAL_NAMESPACE: other });
  const gaveUp = async (line: RegExp) => {
    const { code, stdout, stderr } = await run('--wait', '--timeout', '2');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toEqual([
      'No worker runs: the work waits for one. `npm start` has one.',
      expect.stringMatching(line),
      'error: It takes longer than --timeout; the work goes on without this command.',
      'See it with: npx padron publications list',
    ]);
  };
  await gaveUp(/^asking the official site of buenos_contribuyentes \(fetch\/buenos_contribuyentes-.*\)$/);
  await gaveUp(/^asked already \(fetch\/buenos_contribuyentes-.*\): waiting for its end$/);
  const queued = await run('--json');
  expect(JSON.parse(queued.stdout)).toMatchObject({ outcome: 'queued', after_workflow_id: expect.any(String) });
});

test('publications run --wait: Ctrl-C says that the work goes on', async () => {
  const child = startPadron(['publications', 'run', register, '--wait'], environment);
  const output = await new Promise<string>((resolve) => {
    let text = '';
    child.stderr.on('data', (chunk) => {
      text += chunk;
      // Only one SIGINT: a second one would end the process without the note.
      if (/^(asking|asked) .*\n$/m.test(String(chunk))) child.kill('SIGINT');
    });
    child.once('close', (code) => resolve(`${code} ${text}`));
  });
  expect(output).toMatch(/^130 [\s\S]*The work goes on without this command\./);
});

test('replay: no device loses its place to a file, and an unknown stretch says where the editions are', async () => {
  const replay = (...words: string[]) => padron('replay', '--register', register, '--into', 'ndjson', ...words);
  expect((await replay('--from', '1', '--to', '2', '--out', folder)).stderr).toMatch(/is no file/);
  expect((await replay('--from', '8', '--to', '9')).stderr).toMatch(/no edition in this range[\s\S]*editions list/);
});
