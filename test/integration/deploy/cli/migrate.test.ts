import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { withMigrationLock } from '../../../../pipelines/runtime/migrations/lock.ts';
import { freshClickhouseDatabase, freshDatabase, freshTopicPrefix } from '../../../support/engines/isolation.ts';
import { relayClickhouse } from '../../../support/migrations/clickhouse-relay.ts';
import { CountedMigration, type KillPoint } from '../../../support/migrations/killed-command.ts';
import { relayPostgres } from '../../../support/migrations/postgres-relay.ts';
import { runCommand, startPadron } from '../../../support/process/command.ts';

const folder = mkdtempSync(join(tmpdir(), 'padron-migrate-'));
const shared = {
  PADRON_LOCAL_DIR: folder,
  KAFKA_TOPIC_PREFIX: freshTopicPrefix(),
  ARCHIVE_URL: pathToFileURL(join(folder, 'archive')).href,
};
let undisturbed: CountedMigration;
let wanted: string[];

beforeAll(async () => {
  undisturbed = await CountedMigration.onEmptyStores(inject('endpoints'), shared);
  expect(await undisturbed.run()).toMatchObject({ code: 0 });
  wanted = await undisturbed.dump();
});
afterAll(async () => {
  await undisturbed.drop();
  rmSync(folder, { recursive: true });
});

async function emptyStores() {
  const [database, store] = [
    await freshDatabase(inject('endpoints')),
    await freshClickhouseDatabase(inject('endpoints')),
  ];
  const { DATABASE_URL } = database;
  const { CLICKHOUSE_URL } = store;
  return {
    environment: { ...inject('endpoints'), ...shared, DATABASE_URL, CLICKHOUSE_URL },
    drop: () => Promise.all([database.drop(), store.drop()]),
  };
}

/** A point in the middle of a file of each store, and one between two views. */
const places: readonly [string, (point: KillPoint) => boolean][] = [
  ['in a file of PostgreSQL', ({ statement }) => statement.includes('DROP COLUMN contract_reference')],
  ['in a file of ClickHouse', ({ statement }) => statement.endsWith('FROM company_name FINAL')],
  ['between two views', ({ statement }) => statement.endsWith("48 bits of their SHA-256.'")],
];

test.each(places)('kill -9 of the command %s: the next run brings the undisturbed schema', async (_where, isPlace) => {
  const point = undisturbed.points.find(isPlace);
  expect(point).toBeDefined();
  const migration = await CountedMigration.onEmptyStores(inject('endpoints'), shared);
  await migration.runKilled(point!);
  expect(await migration.dump()).not.toEqual(wanted);
  expect(await migration.run()).toMatchObject({ code: 0, stdout: 'Everything is up to date.\n' });
  expect(await migration.dump()).toEqual(wanted);
  await migration.drop();
});

test('two commands at once: one does the work, the other says for whom it waits, and both end well', async () => {
  const { environment, drop } = await emptyStores();
  let second: ReturnType<typeof startPadron> | undefined;
  let said = '';
  // The first command stands in the middle of its first file until the second one has said that it waits.
  const relay = await relayPostgres(environment.DATABASE_URL, async (query) => {
    if (query !== 'BEGIN;' || second !== undefined) return 'pass';
    second = startPadron(['migrate', '--json'], environment);
    second.stderr.on('data', (chunk) => {
      said += chunk;
    });
    await expect.poll(() => said, { timeout: 60_000 }).toContain('\n');
    return 'pass';
  });
  const first = await runCommand(['migrate', '--json'], { ...environment, DATABASE_URL: relay.url });
  expect(first).toMatchObject({ code: 0 });
  let document = '';
  second!.stdout.on('data', (chunk) => {
    document += chunk;
  });
  const code = await new Promise((resolve) => second!.once('close', resolve));
  await relay.close();
  expect(said).toMatch(
    /^Another migration runs: padron-migrate@\S+ from 127\.0\.0\.1 since \d{4}-\S+Z \(PostgreSQL process \d+\)\. Waiting up to 600 s for its end\.\nPostgreSQL: up to date\n/,
  );
  expect(code).toBe(0);
  expect(JSON.parse(first.stdout).postgres.length).toBeGreaterThan(10);
  expect(JSON.parse(document).postgres).toEqual([]);
  await drop();
});

test('two commands at once on stores that a killed one left half-migrated', async () => {
  const migration = await CountedMigration.onEmptyStores(inject('endpoints'), shared);
  await migration.runKilled(undisturbed.points.find(places[1]![1])!);
  const both = await Promise.all([migration.run(), migration.run()]);
  expect(both).toEqual([
    { code: 0, stdout: 'Everything is up to date.\n', stderr: expect.any(String) },
    { code: 0, stdout: 'Everything is up to date.\n', stderr: expect.any(String) },
  ]);
  const waits = both.filter(({ stderr }) => /^Another migration runs: padron-migrate@/.test(stderr));
  expect(waits).toHaveLength(1);
  expect(await migration.dump()).toEqual(wanted);
  await migration.drop();
});

test('a lock that stays held is no endless wait: the error names who holds it and how to end that session', async () => {
  const { environment, drop } = await emptyStores();
  const refused = await withMigrationLock(environment.DATABASE_URL, { waitMs: 0, note: () => {} }, () =>
    runCommand(['migrate', '--lock-wait', '1'], environment),
  );
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toMatch(
    /^Another migration runs: .*Waiting up to 1 s for its end\.\nerror: another migration still runs after 1 s: padron-migrate@\S+ from .*\. Wait for it, or end it with: SELECT pg_terminate_backend\(\d+\) \(migration_running\)\n$/,
  );
  await drop();
});

test('a command that loses the lock in the middle of ClickHouse’s files ends there with an error', async () => {
  const { environment, drop } = await emptyStores();
  const admin = new pg.Client({ connectionString: environment.DATABASE_URL });
  await admin.connect();
  let isLost = false;
  const later: string[] = [];
  const relay = await relayClickhouse(environment.CLICKHOUSE_URL, async (statement) => {
    if (isLost) later.push(statement);
    if (isLost || !statement.includes('INSERT INTO ranked_name')) return 'pass';
    isLost = true;
    const { rowCount } = await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE 'padron-migrate@%'`,
    );
    expect(rowCount).toBe(1);
    return 'pass';
  });
  const lost = await runCommand(['migrate'], { ...environment, CLICKHOUSE_URL: relay.url });
  await relay.close();
  await admin.end();
  expect([lost.code, lost.stdout]).toEqual([1, '']);
  expect(lost.stderr).toMatch(/error: the connection to PostgreSQL, which holds the migrations' lock, was lost/);
  expect(later.filter((statement) => /_current/.test(statement))).toEqual([]);
  expect(await runCommand(['migrate'], environment)).toMatchObject({ code: 0 });
  await drop();
});
