import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { passingOf } from '../../../../pipelines/runtime/passing-errors.ts';
import { makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';

const table = `passing_${process.pid}`;
let pool: Pool;

beforeAll(async () => {
  pool = makePool(inject('endpoints').DATABASE_URL, 'passing', 4, 1_000);
  await pool.query(`CREATE TABLE ${table} (id int PRIMARY KEY, n int); INSERT INTO ${table} VALUES (1, 0), (2, 0)`);
});
afterAll(async () => {
  await pool.query(`DROP TABLE ${table}`);
  await pool.end();
});

const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('no error'),
    (error: unknown) => error,
  );
const judge = (error: unknown) => [(error as { code?: string }).code, passingOf(error)];

it('a statement that takes too long, and one that an operator cancels, are refused', async () => {
  expect(judge(await errorOf(pool.query('SELECT pg_sleep(30)')))).toEqual(['57014', 'refused']);
});

it('a session that an operator ends is away', async () => {
  const client = await pool.connect();
  client.on('error', () => {});
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const ended = errorOf(client.query('SELECT pg_sleep(0.9)'));
  await pool.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid]);
  expect(judge(await ended)).toEqual(['57P01', 'away']);
  client.release(true);
});

it('of two transactions that change what the other read, one is refused', async () => {
  const [one, other] = [await pool.connect(), await pool.connect()];
  try {
    for (const client of [one, other]) {
      await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
      await client.query(`SELECT sum(n) FROM ${table}`);
    }
    await one.query(`UPDATE ${table} SET n = n + 1 WHERE id = 1`);
    await other.query(`UPDATE ${table} SET n = n + 1 WHERE id = 2`);
    await one.query('COMMIT');
    expect(judge(await errorOf(other.query('COMMIT')))).toEqual(['40001', 'refused']);
  } finally {
    await other.query('ROLLBACK');
    for (const client of [one, other]) client.release();
  }
});

it('a lock that is not free in time is refused', async () => {
  const [one, other] = [await pool.connect(), await pool.connect()];
  try {
    await one.query(`BEGIN; UPDATE ${table} SET n = 9 WHERE id = 1`);
    await other.query("BEGIN; SET LOCAL lock_timeout = '100ms'");
    expect(judge(await errorOf(other.query(`UPDATE ${table} SET n = 8 WHERE id = 1`)))).toEqual(['55P03', 'refused']);
  } finally {
    for (const client of [one, other]) {
      await client.query('ROLLBACK');
      client.release();
    }
  }
});

it.each([
  ['53200', 'refused'],
  ['53300', 'away'],
  ['53100', 'away'],
  ['57P02', 'away'],
  ['57P03', 'away'],
  ['25006', 'away'],
  ['08006', 'away'],
  ['40P01', 'refused'],
  ['23505', null],
  ['42P01', null],
])('the server answers %s: %s', async (code, passing) => {
  const raise = pool.query(`DO $$ BEGIN RAISE EXCEPTION 'asked for' USING ERRCODE = '${code}'; END $$`);
  expect(judge(await errorOf(raise))).toEqual([code, passing]);
});
