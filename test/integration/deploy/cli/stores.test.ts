import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { editionPartitions } from '../../../../pipelines/editions/editions.ts';
import { ensureHead } from '../../../../pipelines/editions/heads.ts';
import { makeClickhouse } from '../../../../pipelines/runtime/clickhouse.ts';
import { materializeGroup } from '../../../../pipelines/stream/topics.ts';
import { changesTopic, registerNames } from '../../../../schemas/registers.ts';
import {
  freshClickhouseDatabase,
  freshDatabase,
  freshTopicPrefix,
  migratedClickhouseDatabase,
} from '../../../support/engines/isolation.ts';
import { padronDocument, runCommand } from '../../../support/process/command.ts';
import { ReplayHarness, writeBars } from '../../../support/registers/replay-harness.ts';
import { insertTaxpayers } from '../../../support/registers/served-register.ts';

// The commands that compare, repair and export what ClickHouse, Kafka and the archive hold, over a history of two
// editions. They change it one after the other, so the tests of this file run in their order.
const register = 'sancionados';
let harness: ReplayHarness;
let environment: Record<string, string>;

beforeAll(async () => {
  harness = await ReplayHarness.start(inject('endpoints'), [register]);
  environment = { ...harness.stream.environment, WORK_DIR: harness.workDir };
  for (const name of registerNames) await ensureHead(harness.stream.pool, name);
  for (const edition of [1, 2]) {
    const ids = ['20500000013', '10440000014', '88000000019'].slice(edition - 1);
    const bars = ids.map((id, index) => [id, `${edition}-${index}`] as const);
    const path = join(harness.stream.folder, `bars-${edition}.csv`);
    await harness.publish(register, writeBars(path, bars), `2026-11-2${edition}`);
  }
});
afterAll(() => harness?.close());

const padron = (...words: string[]) => runCommand(words, environment);
const alter = (query: string) =>
  harness.stream.clickhouse.command({ query, clickhouse_settings: { mutations_sync: '2', async_insert: 0 } });

test('verify: equal is exit code 0; progress goes to standard error, the document alone to standard output', async () => {
  const equal = await padron('verify', '--register', register);
  expect([equal.code, equal.stdout]).toEqual([0, expect.stringMatching(/^sancionados 2: equal, \d+ rows\n$/)]);
  expect(equal.stderr).toMatch(/^sancionados \S+.*: .*rows/m);
  const all = await padron('verify', '--json');
  const reports = JSON.parse(all.stdout) as { register: string; edition: number | null; equal?: boolean }[];
  expect(reports.map((report) => report.register)).toEqual(registerNames);
  expect(reports.find((report) => report.register === register)).toMatchObject({ edition: 2, equal: true });
  expect(reports.filter((report) => report.register !== register).every(({ edition }) => edition === null)).toBe(true);
  expect((await padron('verify', '--register', 'padron_reducido')).stdout).toBe('padron_reducido: no edition yet\n');
});

test('verify: a difference is exit code 1 and listed; rebuild repairs it', async () => {
  await alter(`ALTER TABLE taxpayer DELETE WHERE ruc = 10440000014 AND version > 0`);
  const differs = await padron('verify', '--register', register);
  expect(differs.code).toBe(1);
  expect(differs.stdout).toMatch(
    /^sancionados 2: \d+ differences?, \d+ rows\n {2}state: 1 missing, 0 that should not be/,
  );
  expect(differs.stdout).toMatch(/\n {4}state missing \S+/);
  const rebuilt = await padron('rebuild', '--register', register);
  expect([rebuilt.code, rebuilt.stdout]).toEqual([0, expect.stringMatching(/^sancionados 2: rebuilt, \d+ rows\n$/)]);
  expect((await padron('verify', '--register', register)).code).toBe(0);
  const nothing = await padron('rebuild', '--register', 'padron_reducido');
  expect([nothing.code, nothing.stdout]).toEqual([0, 'No register has an edition yet.\n']);
});

test('verify: an edition on its way is exit code 3, and rebuild is refused meanwhile', async () => {
  const set = (times: string) =>
    harness.stream.pool.query(`UPDATE edition SET ${times} WHERE register = $1 AND number = 2`, [register]);
  await set('publicada_at = NULL, materializada_at = NULL, avisada_at = NULL');
  const waiting = await padron('verify', '--register', register);
  expect([waiting.code, waiting.stdout]).toEqual([3, 'sancionados: edition 2 is on its way, try again\n']);
  expect(JSON.parse((await padron('verify', '--register', register, '--json')).stdout)).toEqual([
    { register, edition: 2, onItsWay: true },
  ]);
  const refused = await padron('rebuild', '--register', register);
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toContain('(edition_on_its_way)');
  await set('publicada_at = now(), materializada_at = now(), avisada_at = now()');
});

test('replay: lines on standard output, files by name, and the same rows whatever the form', async () => {
  const replay = (...words: string[]) => padron('replay', '--register', register, ...words);
  const whole = ['--from', '1', '--to', '2'];
  const lines = await replay(...whole, '--into', 'ndjson');
  const rows = lines.stdout.trimEnd().split('\n');
  expect(lines.code).toBe(0);
  expect(lines.stderr).toContain(`sancionados 1 to 2: ${rows.length} changes\n`);
  const days = rows.map((row) => JSON.parse(row).fecha_dato as string);
  expect(days).toEqual([...days].sort());
  expect([...new Set(days)]).toEqual(['2026-11-21', '2026-11-22']);

  const out = join(harness.stream.folder, 'changes.ndjson');
  const document = { register, from: 1, to: 2, rows: rows.length };
  const file = await replay(...whole, '--into', 'ndjson', '--out', out, '--json');
  expect(JSON.parse(file.stdout)).toEqual({ ...document, into: 'ndjson', out });
  expect(readFileSync(out, 'utf8')).toBe(lines.stdout);

  const parquet = join(harness.stream.folder, 'changes.parquet');
  const table = await replay(...whole, '--into', 'parquet', '--out', parquet);
  expect(table.stdout).toBe(`sancionados 1 to 2: ${rows.length} changes\n`);
  expect(readFileSync(parquet).subarray(0, 4).toString()).toBe('PAR1');

  const kafka = await replay('--from', '2026-11-22', '--to', '2026-11-30', '--into', 'kafka', '--json');
  expect(JSON.parse(kafka.stdout)).toMatchObject({ register, from: 2, to: 2, into: 'kafka', out: null });
});

test('replay: a form and an output that do not fit are refused before anything is read', async () => {
  const out = join(harness.stream.folder, 'refused.ndjson');
  const refused = async (words: string[], message: RegExp) => {
    const { code, stdout, stderr } = await padron('replay', '--register', register, ...words);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(message);
  };
  const stretch = ['--from', '1', '--to', '2'];
  await refused([...stretch, '--into', 'parquet'], /A Parquet file needs a name\.\nAdd --out FILE/);
  await refused([...stretch, '--into', 'kafka', '--out', out], /Nothing is written to a file with --into kafka/);
  await refused([...stretch, '--into', 'ndjson', '--json'], /Standard output is for the changes themselves/);
  await refused([...stretch, '--into', 'csv'], /Allowed choices are ndjson, parquet, kafka/);
  await refused(['--from', 'ayer', '--to', '2', '--into', 'ndjson'], /"ayer" is not a day/);
  await refused(['--from', '1', '--into', 'ndjson'], /required option '--to/);
  expect(existsSync(out)).toBe(false);
});

test('a ClickHouse or a schema registry that is away is named, and nothing is changed', async () => {
  const away = (words: string[], changed: Record<string, string>) => runCommand(words, { ...environment, ...changed });
  const rebuild = await away(['rebuild', '--register', register], { CLICKHOUSE_URL: 'http://u:secret@127.0.0.1:1/x' });
  expect([rebuild.code, rebuild.stdout]).toEqual([1, '']);
  expect(rebuild.stderr).toMatch(/Nothing answers at 127\.0\.0\.1:1 \(ECONNREFUSED\)\.\nStart the stack/);
  const migrate = await away(['migrate'], { CLICKHOUSE_URL: 'http://u:secret@127.0.0.1:1/x' });
  expect([migrate.code, migrate.stdout]).toEqual([1, '']);
  expect(migrate.stderr).toMatch(
    /^error: ClickHouse at \S+: it does not answer \(ECONNREFUSED\)\nNothing was changed\./,
  );
  const restore = await away(['schemas', 'restore'], { SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' });
  expect([restore.code, restore.stdout]).toEqual([1, '']);
  for (const { stderr } of [rebuild, migrate, restore]) {
    expect(stderr).not.toContain('secret');
    expect(stderr).not.toMatch(/\n {4}at /);
  }
});

test('migrate makes what is missing once; the archive then lists the schemas, and a restore finds them there', async () => {
  const endpoints = inject('endpoints');
  const [database, store] = [await freshDatabase(endpoints), await freshClickhouseDatabase(endpoints)];
  const fresh = {
    ...environment,
    DATABASE_URL: database.DATABASE_URL,
    CLICKHOUSE_URL: store.CLICKHOUSE_URL,
    KAFKA_TOPIC_PREFIX: freshTopicPrefix(),
    ARCHIVE_URL: pathToFileURL(join(harness.stream.folder, 'fresh-archive')).href,
  };
  const run = (...words: string[]) => runCommand(words, fresh);
  expect((await run('schemas', 'list')).stdout).toBe('The archive keeps no schemas yet: run `npx padron migrate`.\n');
  expect((await run('schemas', 'restore')).stdout).toBe('The archive keeps no schemas: nothing to restore.\n');

  const first = await run('migrate', '--json');
  const made = JSON.parse(first.stdout) as { postgres: string[]; schemas: Record<string, unknown> };
  expect(made.postgres.length).toBeGreaterThan(0);
  expect(Object.keys(made.schemas).sort()).toEqual([...registerNames].sort());
  expect(first.stderr).toMatch(/^PostgreSQL: .*\nClickHouse: up to date\nKafka: topics and schemas of 7 registers/);
  const again = await run('migrate');
  expect([again.code, again.stdout]).toEqual([0, 'Everything is up to date.\n']);
  expect(again.stderr).toMatch(/^PostgreSQL: up to date\n/);

  const listed = await padronDocument<{ subject: string; id: number }[]>(['schemas', 'list'], fresh, runCommand);
  expect(listed.length).toBeGreaterThanOrEqual(registerNames.length);
  expect(listed.every(({ subject }) => subject.startsWith(fresh.KAFKA_TOPIC_PREFIX))).toBe(true);
  expect((await run('schemas', 'restore')).stdout.trimEnd().split('\n').sort()).toEqual(
    listed.map(({ subject, id }) => `${id}\t${subject}\tthere`).sort(),
  );
  await store.drop();
  await database.drop();
});

test('a second ClickHouse server: migrated, rebuilt from the archive, verified and taken out again', async () => {
  const second = await freshClickhouseDatabase(inject('endpoints'));
  const { CLICKHOUSE_URL, ...others } = environment;
  const replicas = `default=${CLICKHOUSE_URL},b=${second.CLICKHOUSE_URL}`;
  const run = (...words: string[]) => runCommand(words, { ...others, CLICKHOUSE_REPLICAS: replicas });
  expect((await run('migrate')).stderr).toContain('replica b: new, it serves once it has caught up');
  const differs = await run('verify', '--register', register, '--replica', 'b');
  expect([differs.code, differs.stdout]).toEqual([1, expect.stringMatching(/^b sancionados 2: \d+ differences/)]);
  const rebuilt = await run('rebuild', '--replica', 'b');
  expect([rebuilt.code, rebuilt.stdout]).toEqual([0, expect.stringMatching(/^b sancionados 2: rebuilt, \d+ rows\n$/)]);
  const both = await run('verify', '--register', register);
  expect(both.stdout).toMatch(/^default sancionados 2: equal, \d+ rows\nb sancionados 2: equal, \d+ rows\n$/);
  // Its group goes on after the rebuilt editions, so its consumers need not read them.
  const group = materializeGroup(harness.stream.prefix, 'b');
  const topic = changesTopic(harness.stream.prefix, register);
  const ends = await editionPartitions(harness.stream.pool, register, 2);
  expect(await harness.stream.offsets.committed(group, topic)).toEqual(ends.map(({ end_offset }) => end_offset));
  expect((await run('registers')).stdout).toContain('replica b: stopped, its store is new, and was rebuilt');
  const shown = JSON.parse((await run('registers', '--json')).stdout) as { register: string; replicas: unknown[] }[];
  expect(shown.find((row) => row.register === register)!.replicas).toContainEqual({
    name: 'b',
    state: 'stopped',
    reason: expect.any(String),
    lacks: null,
  });
  expect((await run('verify', '--replica', 'c')).stderr).toContain('CLICKHOUSE_REPLICAS names: default, b');
  expect((await padron('migrate')).stderr).toContain('replica b: taken out');
  expect((await padron('registers')).stdout).not.toContain('replica');
  await second.drop();
});

test('editions adopt asks every ClickHouse server, and does not go on without one', async () => {
  const [second, empty] = [
    await migratedClickhouseDatabase(inject('endpoints')),
    await freshClickhouseDatabase(inject('endpoints')),
  ];
  const { CLICKHOUSE_URL, ...others } = environment;
  const adopt = (b: string) =>
    runCommand(['editions', 'adopt', '--dry-run', '--register', register], {
      ...others,
      CLICKHOUSE_REPLICAS: `default=${CLICKHOUSE_URL},b=${b}`,
    });
  const nothing = { code: 0, stdout: 'The catalogue has every edition that Kafka and ClickHouse have.\n' };
  expect(await adopt(empty.CLICKHOUSE_URL), 'a server without our tables has no editions').toMatchObject(nothing);
  expect(await adopt(second.CLICKHOUSE_URL)).toMatchObject(nothing);
  // Only the second server has an edition that Kafka lost too.
  const client = makeClickhouse(second.CLICKHOUSE_URL, 'test', { requestTimeoutMs: 10_000, connections: 1 });
  await insertTaxpayers(client, [{ line: '20500000013|X', register, version: 3 }]);
  await client.close();
  const found = await adopt(second.CLICKHOUSE_URL);
  expect(found.stderr).toMatch(/edition 3 of sancionados cannot be brought back, because the archive has not all/);
  const away = await adopt('http://u:secret@127.0.0.1:1/x');
  expect([away.code, away.stdout]).toEqual([1, '']);
  expect(away.stderr).toMatch(
    /^error: The replica b does not answer: .*ECONNREFUSED.*\nStart it\. If it is lost, leave/,
  );
  expect(away.stderr).not.toContain('secret');
  await second.drop();
  await empty.drop();
});
