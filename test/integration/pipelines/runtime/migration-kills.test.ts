import { expect, inject, test } from 'vitest';
import { migrateClickhouse, migratePostgres } from '../../../../pipelines/runtime/migrate.ts';
import { freshClickhouseDatabase, freshDatabase } from '../../../support/engines/isolation.ts';
import { relayClickhouse } from '../../../support/migrations/clickhouse-relay.ts';
import { relayPostgres } from '../../../support/migrations/postgres-relay.ts';
import { dumpClickhouse, dumpPostgres } from '../../../support/migrations/schema-dump.ts';
import { seedClickhouse, seedPostgres } from '../../../support/migrations/seeds.ts';
import { beginningsOf } from '../../../support/migrations/statements.ts';

// A migration dies after every statement, and is repeated until it ends. The connection is cut, which is what an engine
// sees of a killed process. An engine cannot distinguish a death after a statement from one before the next statement, so
// one cut stands for both. `npm run chaos -- migrations` kills processes, each time with empty stores.

test('PostgreSQL: cut after each statement of each file, a file is applied whole or not at all', async () => {
  const undisturbed = await freshDatabase(inject('endpoints'));
  const recorder = await relayPostgres(undisturbed.DATABASE_URL, async (query) => {
    await seedPostgres(undisturbed.DATABASE_URL, query);
    return 'pass';
  });
  const files = await migratePostgres(recorder.url);
  await recorder.close();

  const cut = await freshDatabase(inject('endpoints'));
  const seen = new Set<string>();
  let committed = 0;
  let before = await dumpPostgres(cut.DATABASE_URL);
  for (;;) {
    let last = '';
    let isWhole = false;
    const relay = await relayPostgres(cut.DATABASE_URL, async (query) => {
      if (await seedPostgres(cut.DATABASE_URL, query)) before = await dumpPostgres(cut.DATABASE_URL);
      for (const beginning of last === '' ? beginningsOf(query) : []) {
        // Every file's transaction begins and ends with the same text.
        const point = /^(BEGIN|COMMIT);$/.test(query) ? `${query} of file ${committed}` : beginning;
        if (seen.has(point)) continue;
        seen.add(point);
        last = query;
        isWhole = beginning === beginningsOf(query).at(-1);
        return { killAfter: beginning };
      }
      return 'pass';
    });
    const outcome = await migratePostgres(relay.url).catch(() => 'cut');
    await relay.close();
    expect(relay.refused).toEqual([]);
    if (last === '') {
      expect(outcome, 'nothing is left to do').toEqual([]);
      break;
    }
    expect(outcome).toBe('cut');
    if (!isWhole) continue;
    const now = await dumpPostgres(cut.DATABASE_URL);
    const isInFile = !/^(SELECT|CREATE TABLE "public"."schema_migration"|COMMIT;|SET statement_timeout)/.test(last);
    if (isInFile) expect(now, last.slice(-200)).toEqual(before);
    if (last === 'COMMIT;') committed += 1;
    before = now;
  }
  expect(committed).toBe(files.length);
  // Each file has a BEGIN, at least one statement, the record that it was applied, and a COMMIT.
  expect(seen.size).toBeGreaterThan(4 * files.length);
  expect(before).toEqual(await dumpPostgres(undisturbed.DATABASE_URL));
  await undisturbed.drop();
  await cut.drop();
}, 300_000);

test('ClickHouse: cut after each statement, each time in the same database, it ends with the same schema', async () => {
  const undisturbed = await freshClickhouseDatabase(inject('endpoints'));
  const statements: string[] = [];
  const recorder = await relayClickhouse(undisturbed.CLICKHOUSE_URL, async (statement) => {
    statements.push(statement);
    await seedClickhouse(undisturbed.CLICKHOUSE_URL, statement);
    return 'pass';
  });
  await migrateClickhouse(recorder.url);
  await recorder.close();

  // Each run dies one statement later than the run before. A file that is not recorded as applied begins anew.
  const cut = await freshClickhouseDatabase(inject('endpoints'));
  const seen = new Set<string>();
  for (let isCut = true; isCut; ) {
    isCut = false;
    const relay = await relayClickhouse(cut.CLICKHOUSE_URL, async (statement) => {
      await seedClickhouse(cut.CLICKHOUSE_URL, statement);
      if (isCut || seen.has(statement)) return 'pass';
      seen.add(statement);
      isCut = true;
      return 'kill_after';
    });
    const outcome = await migrateClickhouse(relay.url).catch(() => 'cut');
    await relay.close();
    expect(outcome).toBe(isCut ? 'cut' : undefined);
  }
  expect(seen.size).toBe(statements.length);
  expect(await dumpClickhouse(cut.CLICKHOUSE_URL)).toEqual(await dumpClickhouse(undisturbed.CLICKHOUSE_URL));
  await undisturbed.drop();
  await cut.drop();
}, 300_000);
