import type { ClickHouseClient } from '@clickhouse/client';
import { expect, test } from 'vitest';
import { rawRequest } from '../../support/engines/clickhouse.ts';
import { inFreshDatabase } from './database.ts';

let client: ClickHouseClient;
let url: string;
let count = 0;

inFreshDatabase((made) => {
  ({ client, url } = made);
});

const newSession = () => {
  count += 1;
  return `session-${process.pid}-${count}`;
};
const value = async (query: string, more: Record<string, unknown> = {}) =>
  Object.values(
    (await (await client.query({ query, format: 'JSONEachRow', ...more })).json<Record<string, unknown>>())[0]!,
  )[0];

test('temporary tables live in their session only', async () => {
  const session_id = newSession();
  await client.command({ query: 'CREATE TEMPORARY TABLE mine (a UInt8)', session_id });
  await client.insert({
    table: 'mine',
    values: [{ a: 7 }],
    format: 'JSONEachRow',
    http_headers: {},
    session_id,
  } as never);
  expect(await value('SELECT sum(a) FROM mine', { session_id })).toBe(7);
  await expect(value('SELECT sum(a) FROM mine')).rejects.toMatchObject({ code: '60' });
  await expect(value('SELECT sum(a) FROM mine', { session_id: newSession() })).rejects.toMatchObject({ code: '60' });
});

test('SET holds for the session; settings of one request end with it', async () => {
  const session_id = newSession();
  const query = "SELECT getSetting('max_block_size') AS v";
  await client.command({ query: 'SET max_result_rows = 1000', session_id });
  expect(await value("SELECT getSetting('max_result_rows') AS v", { session_id })).toBe(1000);
  const before = await value(query, { session_id });
  expect(await value(query, { session_id, clickhouse_settings: { max_block_size: '77' } })).toBe(77);
  expect(await value(query, { session_id })).toBe(before);
  expect(await value("SELECT getSetting('max_result_rows') AS v")).not.toBe(1000);
});

test('SET and USE without a session are forgotten', async () => {
  await client.command({ query: 'SET max_block_size = 99' });
  await client.command({ query: 'USE system' });
  for (let round = 0; round < 10; round += 1) {
    expect(await value("SELECT getSetting('max_block_size') AS v")).not.toBe(99);
    expect(await value('SELECT currentDatabase() AS d')).toBe(new URL(url).pathname.slice(1));
  }
});

test('a session runs one query at a time', async () => {
  const session_id = newSession();
  const long = client.query({ query: 'SELECT sleep(1)', session_id });
  await new Promise((resolve) => setTimeout(resolve, 300));
  await expect(value('SELECT 1', { session_id })).rejects.toMatchObject({ code: '373' });
  await (await long).text();
  expect(await value('SELECT 1', { session_id })).toBe(1);
});

test('a failed query leaves nothing in its session', async () => {
  const session_id = newSession();
  for (let round = 0; round < 5; round += 1) {
    const broken = "SELECT throwIf(number = 90000, 'stop') FROM numbers(100000)";
    await expect(value(broken, { session_id })).rejects.toMatchObject({ code: '395' });
    expect(await value(`SELECT ${round} AS v`, { session_id })).toBe(round);
  }
});

test('session_check wants an existing session', async () => {
  const session_id = newSession();
  const answer = await rawRequest(url, { query: 'SELECT 1', session_id, session_check: '1' });
  expect(answer.headers['x-clickhouse-exception-code']).toBe('372');
});
