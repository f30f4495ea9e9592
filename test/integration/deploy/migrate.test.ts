import { createClient } from '@clickhouse/client';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { migrateClickhouse, migratePostgres } from '../../../deploy/runtime/migrate.ts';
import { freshClickhouseDatabase, freshDatabase } from '../../support/isolation.ts';

test('PostgreSQL: two runs at once apply each file once, and a third has nothing to do', async () => {
  const { DATABASE_URL, drop } = await freshDatabase(inject('endpoints'));
  const runs = await Promise.all([migratePostgres(DATABASE_URL), migratePostgres(DATABASE_URL)]);
  const applied = runs.flat();
  expect(applied.length).toBeGreaterThanOrEqual(3);
  expect(new Set(applied).size).toBe(applied.length);
  expect(await migratePostgres(DATABASE_URL)).toEqual([]);
  const client = new pg.Client({ connectionString: DATABASE_URL });
  await client.connect();
  // Whatever stands in the files is there, functions with semicolons inside too.
  await client.query(`SELECT ensure_event_day('2026-11-20')`);
  const { rows } = await client.query('SELECT count(*)::int AS plans FROM plan');
  expect(rows[0]).toEqual({ plans: 4 });
  await client.end();
  await drop();
});

test('ClickHouse: two runs at once, and again, leave one set of tables that keep what they acknowledge', async () => {
  const { CLICKHOUSE_URL, database, drop } = await freshClickhouseDatabase(inject('endpoints'));
  await Promise.all([migrateClickhouse(CLICKHOUSE_URL), migrateClickhouse(CLICKHOUSE_URL)]);
  await migrateClickhouse(CLICKHOUSE_URL);
  const client = createClient({ url: CLICKHOUSE_URL });
  const result = await client.query({
    query: `SELECT name, create_table_query AS sql FROM system.tables WHERE database = {database:String} AND engine LIKE '%MergeTree'
      AND name IN ('taxpayer', 'register_change') ORDER BY name`,
    query_params: { database },
    format: 'JSONEachRow',
  });
  const tables = await result.json<{ name: string; sql: string }>();
  expect(tables.map(({ name }) => name)).toEqual(['register_change', 'taxpayer']);
  for (const { sql } of tables) {
    expect(sql).toContain('fsync_after_insert = 1');
    expect(sql).toContain('fsync_part_directory = 1');
  }
  await client.close();
  await drop();
});

test('ClickHouse: a wrong password is an error with the engine’s own words and without the password', async () => {
  const url = new URL(inject('endpoints').CLICKHOUSE_URL);
  url.password = 'not-the-password';
  const error = await migrateClickhouse(url.href).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: 'migration_failed' });
  expect(String(error)).toMatch(/ClickHouse migrations failed: .*\S/);
  expect(String(error)).not.toContain('not-the-password');
});
