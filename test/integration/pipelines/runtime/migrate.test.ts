import { createClient } from '@clickhouse/client';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { migrateClickhouse, migratePostgres } from '../../../../pipelines/runtime/migrate.ts';
import { padronReducido, registerNames, registers } from '../../../../schemas/registers.ts';
import { stateKeyOf } from '../../../../schemas/ruc.ts';
import { freshClickhouseDatabase, freshDatabase } from '../../../support/engines/isolation.ts';
import { dumpClickhouse } from '../../../support/migrations/schema-dump.ts';

test('PostgreSQL: two runs at once apply each file once, and a third has nothing to do', async () => {
  const { DATABASE_URL, drop } = await freshDatabase(inject('endpoints'));
  const runs = await Promise.all([migratePostgres(DATABASE_URL), migratePostgres(DATABASE_URL)]);
  const applied = runs.flat();
  expect(applied.length).toBeGreaterThanOrEqual(3);
  expect(new Set(applied).size).toBe(applied.length);
  expect(await migratePostgres(DATABASE_URL)).toEqual([]);
  const client = new pg.Client({ connectionString: DATABASE_URL });
  await client.connect();
  // Everything in the files was applied, even functions with semicolons inside.
  await client.query(`SELECT ensure_event_day('2026-11-20')`);
  const { rows } = await client.query('SELECT count(*)::int AS plans FROM plan');
  expect(rows[0]).toEqual({ plans: 4 });
  await client.end();
  await drop();
});

test('ClickHouse: a repeated run leaves one set of tables, which keep what they acknowledge', async () => {
  const { CLICKHOUSE_URL, database, drop } = await freshClickhouseDatabase(inject('endpoints'));
  await migrateClickhouse(CLICKHOUSE_URL);
  await migrateClickhouse(CLICKHOUSE_URL);
  const client = createClient({ url: CLICKHOUSE_URL });
  const result = await client.query({
    query: `SELECT name, create_table_query AS sql FROM system.tables WHERE database = {database:String} AND engine LIKE '%MergeTree'
      AND name IN ('taxpayer', 'register_change', '_migrations') ORDER BY name`,
    query_params: { database },
    format: 'JSONEachRow',
  });
  const tables = await result.json<{ name: string; sql: string }>();
  expect(tables.map(({ name }) => name)).toEqual(['_migrations', 'register_change', 'taxpayer']);
  for (const { sql } of tables) {
    expect(sql).toContain('fsync_after_insert = 1');
    expect(sql).toContain('fsync_part_directory = 1');
  }
  await client.close();
  await drop();
});

test('ClickHouse: a run of an earlier release leaves the schema of a later one as it is', async () => {
  const { CLICKHOUSE_URL, drop } = await freshClickhouseDatabase(inject('endpoints'));
  await migrateClickhouse(CLICKHOUSE_URL);
  const client = createClient({ url: CLICKHOUSE_URL });
  const later = [{ version: 9_999, checksum: 'x', migration_name: '9999_later.sql' }];
  await client.insert({ table: '_migrations', format: 'JSONEachRow', values: later });
  await client.command({ query: 'CREATE OR REPLACE VIEW sancionados_current AS SELECT 1 AS later' });
  const before = await dumpClickhouse(CLICKHOUSE_URL);
  await migrateClickhouse(CLICKHOUSE_URL);
  expect(await dumpClickhouse(CLICKHOUSE_URL)).toEqual(before);
  await client.close();
  await drop();
});

test('ClickHouse: a table without inserts is merged to one part after its time, and not before', async () => {
  const { CLICKHOUSE_URL, database, drop } = await freshClickhouseDatabase(inject('endpoints'));
  await migrateClickhouse(CLICKHOUSE_URL);
  const client = createClient({ url: CLICKHOUSE_URL });
  const partsOf = async (table: string) => {
    const result = await client.query({
      query: `SELECT count() AS parts FROM system.parts WHERE database = {database:String} AND table = {table:String} AND active`,
      query_params: { database, table },
      format: 'JSONEachRow',
    });
    return Number((await result.json<{ parts: string }>())[0]!.parts);
  };
  const values = [{ ruc: '20990000019', register: 1, version: '1', is_deleted: 0, row: '[]' }];
  // Two parts are too few to be merged because of their number.
  for (let part = 0; part < 2; part += 1) await client.insert({ table: 'taxpayer', format: 'JSONEachRow', values });
  expect(await partsOf('taxpayer')).toBe(2);
  for (const table of ['taxpayer', 'register_change', 'ranked_name']) {
    const shown = await client.query({ query: `SHOW CREATE TABLE ${table}`, format: 'TabSeparatedRaw' });
    const sql = await shown.text();
    expect(sql).toContain('min_age_to_force_merge_seconds = 3600');
    expect(sql).toContain('min_age_to_force_merge_on_partition_only = 1');
  }
  await client.command({ query: 'ALTER TABLE taxpayer MODIFY SETTING min_age_to_force_merge_seconds = 1' });
  await expect.poll(() => partsOf('taxpayer'), { timeout: 60_000, interval: 250 }).toBe(1);
  await client.close();
  await drop();
});

test('ClickHouse: each register has a view of its live rows with named columns, made anew by each run', async () => {
  const { CLICKHOUSE_URL, drop } = await freshClickhouseDatabase(inject('endpoints'));
  await migrateClickhouse(CLICKHOUSE_URL);
  const client = createClient({ url: CLICKHOUSE_URL });
  const columnsOf = async (view: string) => {
    const described = await client.query({ query: `DESCRIBE TABLE ${view}`, format: 'JSONEachRow' });
    return (await described.json<{ name: string; type: string }>()).map(({ name }) => name);
  };
  // The columns are those of the view that the first migration made.
  const daily = [...padronReducido.columns].map(({ name }) => name);
  expect(await columnsOf('padron_reducido_current')).toEqual(['ruc', 'version', 'cells', ...daily]);
  // An earlier release may have made the view with other columns.
  await client.command({ query: 'CREATE OR REPLACE VIEW sancionados_current AS SELECT 1 AS earlier' });
  await migrateClickhouse(CLICKHOUSE_URL);
  const row = (key: number, version: number, is_deleted: number, cells: string[]) => ({
    ruc: String(key),
    register: registers.sancionados.code,
    version: String(version),
    is_deleted,
    row: is_deleted ? '' : JSON.stringify(cells),
  });
  await client.insert({
    table: 'taxpayer',
    format: 'JSONEachRow',
    values: [
      row(20_990_000_019, 1, 0, ['ruc', '[]']),
      row(20_990_000_019, 2, 0, ['ruc', '[{"desde":"2026-01-01"}]']),
      row(stateKeyOf('00000012345'), 1, 0, ['ruc_no_valido', '[]']),
      row(stateKeyOf('07654321'), 1, 0, ['documento', '[1]']),
      row(20_990_000_027, 1, 0, ['ruc', '[]']),
      row(20_990_000_027, 2, 1, []),
    ],
  });
  const found = await client.query({
    query: 'SELECT id, tipo_id, sanciones, toUInt32(version) AS version FROM sancionados_current ORDER BY state_key',
    format: 'JSONEachRow',
  });
  expect(await found.json()).toEqual([
    { id: '00000012345', tipo_id: 'ruc_no_valido', sanciones: '[]', version: 1 },
    { id: '20990000019', tipo_id: 'ruc', sanciones: '[{"desde":"2026-01-01"}]', version: 2 },
    { id: null, tipo_id: 'documento', sanciones: '[1]', version: 1 },
  ]);
  for (const register of registerNames) expect(await columnsOf(`${register}_current`)).toContain('version');
  await client.close();
  await drop();
});

test('ClickHouse: a wrong password is an error with the engine’s own words and without the password', async () => {
  const url = new URL(inject('endpoints').CLICKHOUSE_URL);
  url.password = 'not-the-password';
  const error = await migrateClickhouse(url.href).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: '516' });
  expect(String(error)).toMatch(/Authentication failed/);
  expect(String(error)).not.toContain('not-the-password');
});
