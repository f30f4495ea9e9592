import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { ensureHead } from '../../../../pipelines/editions/heads.ts';
import { type CliStage, insertEdition, insertPublication, makeCliStage } from '../../../support/process/cli-stage.ts';
import { runCommand } from '../../../support/process/command.ts';

// What each noun says while an engine that it needs is away. Nothing listens on port 1.
const register = 'agentes_retencion';
let stage: CliStage;

beforeAll(async () => {
  stage = await makeCliStage(inject('endpoints'));
  await ensureHead(stage.pool, register);
});
afterAll(() => stage.close());

const away = (words: readonly string[], changed: Record<string, string>) =>
  runCommand(words, { ...stage.environment, ...changed });

test.each([
  ['accounts list'],
  ['contracts list'],
  ['tokens list'],
  ['registers'],
  ['publications list'],
  ['editions list'],
  ['rejects 1'],
  ['deliveries backlog'],
  ['calendar list'],
])('%s names the database that does not answer, without its password', async (words) => {
  const DATABASE_URL = 'postgres://padron:clave-secreta@127.0.0.1:1/padron';
  expect(await away(words.split(' '), { DATABASE_URL })).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: Nothing answers at 127.0.0.1:1 (ECONNREFUSED).\n' +
      'Start the stack with `npm start`, or check the addresses in the environment.\n',
  });
});

test('an order is kept although Temporal is away: the sweeper of the worker finds it', async () => {
  const id = await insertPublication(stage.pool, { register, state: 'en_cuarentena', fecha_dato: '2026-11-20' });
  const publication = await insertPublication(stage.pool, { register, state: 'publicada', fecha_dato: '2026-11-21' });
  await insertEdition(stage.pool, { register, number: 1, publication, fechaDato: '2026-11-21' });
  const noTemporal = { TEMPORAL_ADDRESS: '127.0.0.1:1' };
  // Pausing needs no Temporal.
  expect((await away(['publications', 'pause', register], noTemporal)).code).toBe(0);

  // All at once, since each waits until its connection is given up.
  const orders = [
    ['publications', 'run', register],
    ['publications', 'approve', String(id)],
    ['publications', 'resume', register],
    ['editions', 'revert', register, '1', '--reason', 'wrong file'],
  ];
  for (const refused of await Promise.all(orders.map((words) => away(words, noTemporal)))) {
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toBe('error: Temporal does not answer at 127.0.0.1:1.\nStart the stack with `npm start`.\n');
  }
  expect(await stage.document('editions', 'show', register, '1')).toMatchObject({ corrected_by: { state: 'pedida' } });
  // What Temporal would have to carry out at once is not done: it can be ordered again.
  expect(await stage.document('publications', 'show', String(id))).toMatchObject({ state: 'en_cuarentena' });
  expect((await stage.padron('publications', 'list')).stderr).toBe(`${register} is paused.\n`);
  expect((await away(['publications', 'reject', String(id)], noTemporal)).code).toBe(0);
});

test('a list that left the archive is said so, and the counts stay readable', async () => {
  const compare_result = { rejectsSha256: 'ab'.repeat(32), counts: { rejectedByReason: { columns: 2 } } };
  const id = String(await insertPublication(stage.pool, { register, state: 'publicada', compare_result }));
  await stage.expectRefused(['rejects', id], /^error: .*ab.*/);
  await stage.expectRefused(['rejects', id, '--raw', '--json'], /--raw is NDJSON already\.\nLeave --json out/);
  const without = { ...compare_result, rejectsSha256: null };
  const other = await insertPublication(stage.pool, { register, state: 'publicada', compare_result: without });
  expect(await stage.document('rejects', String(other))).toEqual({
    ...{ publication: other, register, counts: { columns: 2 }, lines: [], omitted: 0 },
  });
  expect((await stage.padron('rejects', String(other), '--raw')).stdout).toBe('columns: 2\n');
});

test('every setting that is missing is named at once, whichever noun needs it', async () => {
  const needs: Record<string, string[]> = {
    'accounts list': ['DATABASE_URL'],
    migrate: ['DATABASE_URL', 'CLICKHOUSE_URL', 'KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL', 'ARCHIVE_URL'],
    'schemas list': ['KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL', 'ARCHIVE_URL'],
    verify: ['DATABASE_URL', 'CLICKHOUSE_URL', 'ARCHIVE_URL', 'WORK_DIR'],
    [`replay --register ${register} --from 1 --to 1 --into ndjson`]: ['DATABASE_URL', 'ARCHIVE_URL', 'WORK_DIR'],
    [`publications run ${register}`]: ['TEMPORAL_ADDRESS'],
  };
  for (const [words, names] of Object.entries(needs)) {
    const { code, stdout, stderr } = await runCommand(words.split(' '), { PADRON_LOCAL_DIR: stage.folder });
    expect([code, stdout], words).toEqual([1, '']);
    for (const name of names) expect(stderr, words).toContain(`${name}: is not set`);
    expect(stderr, words).toContain('run `npm start` in another terminal, or set these variables.');
  }
});
