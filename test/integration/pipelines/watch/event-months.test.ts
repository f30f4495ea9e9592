import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { migratePostgres } from '../../../../pipelines/runtime/migrate.ts';
import { makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/engines/isolation.ts';
import { partitionsOf } from '../../../support/watch/single-days.ts';

const folder = fileURLToPath(new URL('../../../../schemas/postgres', import.meta.url));
const migration = '0019_event_months';
let database: FreshDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await freshDatabase(inject('endpoints'));
  pool = makePool(database.DATABASE_URL, 'test', 4);
  const silent = () => {};
  await runner({
    databaseUrl: database.DATABASE_URL,
    dir: folder,
    direction: 'up',
    migrationsTable: 'schema_migration',
    singleTransaction: false,
    count: readdirSync(folder).filter((file) => file < migration).length,
    logger: { info: silent, warn: silent, error: silent },
  });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const makeDay = (day: string) => pool.query('SELECT ensure_event_day($1)', [day]);
const insertEvent = (day: string) =>
  pool.query(
    `INSERT INTO event (day, id, account_id, position, list_id, evento, register, edition, ruc, fecha_dato, ocurrido_en, payload)
     VALUES ($1::date, 'ev_' || $1, 1, 1, 1, 'ruc.baja', 'padron_reducido', 1, '20990000019', $1::date, $1::date, '{}')`,
    [day],
  );
const storedDays = async () => (await pool.query('SELECT day FROM event ORDER BY day')).rows.map(({ day }) => day);

it('a migration that dies changes nothing; repeated, it keeps the days of the last release and disturbs none of its processes', async () => {
  await makeDay('2026-11-25');
  await insertEvent('2026-11-25');
  const dying = await pool.connect();
  dying.on('error', () => {});
  await dying.query('BEGIN');
  await dying.query(readFileSync(`${folder}/${migration}.sql`, 'utf8'));
  const { rows } = await dying.query('SELECT pg_backend_pid() AS pid');
  await pool.query('SELECT pg_terminate_backend($1, 5000)', [rows[0].pid]);
  dying.release(true);
  await makeDay('2026-11-26');
  expect((await pool.query(`SELECT to_regclass('event_20261126') IS NOT NULL AS made`)).rows).toEqual([{ made: true }]);

  // A process of the last release makes its day while the migration runs. It has not committed yet.
  const older = await pool.connect();
  await older.query('BEGIN');
  await older.query("SELECT ensure_event_day('2026-11-27')");
  expect(await migratePostgres(database.DATABASE_URL)).toContain(migration);
  const newer = makeDay('2026-11-28');
  await older.query('COMMIT');
  older.release();
  await newer;
  for (const day of ['2026-11-26', '2026-11-27', '2026-11-28', '2026-11-30']) await insertEvent(day);
  const partitions = [
    '2026-11-25 2026-11-25',
    '2026-11-26 2026-11-26',
    '2026-11-27 2026-11-27',
    '2026-11-28 2026-11-30',
  ];
  for (const table of ['event', 'delivery', 'attempt'] as const)
    expect(await partitionsOf(pool, table)).toEqual(partitions);

  // The migration was committed, but its record was lost with the process.
  await pool.query('DELETE FROM schema_migration WHERE name >= $1', [migration]);
  expect(await migratePostgres(database.DATABASE_URL)).toContain(migration);
  expect(await partitionsOf(pool, 'event')).toEqual(partitions);
  expect(await storedDays()).toEqual(['2026-11-25', '2026-11-26', '2026-11-27', '2026-11-28', '2026-11-30']);
});

it('the retention of the last release sees its own days, and leaves months to this release', async () => {
  await makeDay('2024-02-10');
  await insertEvent('2024-02-10');
  // The statement by which the last release finds days to remove.
  const { rows } = await pool.query<{ day: string }>(
    `SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS day FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'event'::regclass AND c.relname ~ '_[0-9]{8}$' ORDER BY 1`,
  );
  expect(rows.map(({ day }) => day)).toEqual(['2026-11-25', '2026-11-26', '2026-11-27']);
});
