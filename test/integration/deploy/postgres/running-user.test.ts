import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { migratePostgres } from '../../../../pipelines/runtime/migrate.ts';
import { inTransaction, makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { removeExpired } from '../../../../pipelines/webhooks/retention.ts';
import { type DatabaseUsers, makeUsers } from '../../../support/engines/database-users.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/engines/isolation.ts';

// What the running user may do that needs more than reading and writing rows. The whole product runs with such a user
// in test/e2e/chain.test.ts.
let database: FreshDatabase;
let users: DatabaseUsers;
let pool: Pool;

beforeAll(async () => {
  database = await freshDatabase(inject('endpoints'));
  users = await makeUsers(database.DATABASE_URL);
  await migratePostgres(users.MIGRATION_DATABASE_URL);
  pool = makePool(users.DATABASE_URL, 'test', 2);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const partitions = async () =>
  (await pool.query<{ name: string }>(`SELECT partition_name AS name FROM event_partitions('event') ORDER BY 1`)).rows;

test('it makes partitions, uses them directly, and drops them when they are past', async () => {
  await pool.query(`SELECT ensure_event_day('2020-01-15')`);
  expect(await partitions()).toEqual([{ name: 'event_2020_01_01' }]);
  await pool.query('SELECT FROM event_2020_01_01');
  await removeExpired(pool, { eventMonths: 13, attemptDays: 90, heldDays: 30 });
  expect(await partitions()).toEqual([]);
});

test('it takes the lock under which operators add to the calendar', async () => {
  await inTransaction(pool, (client) => client.query('LOCK TABLE calendar_addition IN SHARE ROW EXCLUSIVE MODE'));
});

test('it owns nothing and can neither change, drop nor make a table', async () => {
  const owned = await pool.query('SELECT FROM pg_class WHERE relowner = current_user::regrole');
  expect(owned.rowCount).toBe(0);
  for (const statement of ['DROP TABLE account', 'ALTER TABLE account ADD COLUMN x int', 'CREATE TABLE own (a int)']) {
    await expect(pool.query(statement), statement).rejects.toMatchObject({ code: '42501' });
  }
});

test('the functions that work with the owner’s rights take nothing but a day, and no table of the caller', async () => {
  await expect(pool.query(`SELECT drop_event_partition('2020_01_01, account')`)).rejects.toThrow(
    'a partition has no day',
  );
  await inTransaction(pool, async (client) => {
    await client.query('CREATE TEMP TABLE event (day date) ON COMMIT DROP');
    await client.query(`SELECT ensure_event_day('2020-03-01')`);
  });
  expect((await partitions()).map(({ name }) => name)).toEqual(['event_2020_03_01']);
});

test('a repeat of the file and of the migrations changes nothing', async () => {
  expect(await migratePostgres(users.MIGRATION_DATABASE_URL)).toEqual([]);
});
