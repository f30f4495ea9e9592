import type { ClickHouseClient } from '@clickhouse/client';
import { beforeAll, expect, test } from 'vitest';
import { rawRequest } from '../../support/engines/clickhouse.ts';
import { inFreshDatabase } from './database.ts';

let client: ClickHouseClient;
let url: string;

inFreshDatabase((made) => {
  ({ client, url } = made);
});
beforeAll(async () => {
  const table = 'CREATE TABLE state (ruc UInt64, row String) ENGINE = MergeTree ORDER BY ruc';
  await client.command({ query: table });
  await client.command({
    query: "INSERT INTO state SELECT 20000000000 + number, concat('row ', number) FROM numbers(200000)",
  });
});

const endless = 'SELECT number FROM numbers(1000000000000) WHERE sipHash64(number) = 0';

/** How many running queries of the engine contain the mark in their text. */
async function running(mark: string): Promise<number> {
  const query =
    "SELECT count() AS c FROM system.processes WHERE position(query, {mark:String}) > 0 AND position(query, 'system.processes') = 0";
  const result = await client.query({ query, query_params: { mark }, format: 'JSONEachRow' });
  return Number((await result.json<{ c: string }>())[0]!.c);
}

async function untilRunning(mark: string, count: number): Promise<void> {
  await expect.poll(() => running(mark), { timeout: 15_000, interval: 50 }).toBe(count);
}

test('two million rows arrive, the first long before the last', async () => {
  const started = Date.now();
  let first = 0;
  let sum = 0;
  let count = 0;
  const query = "SELECT number AS n, repeat('x', 100) AS filler FROM numbers(2000000)";
  const result = await client.query({ query, format: 'JSONCompactEachRow' });
  for await (const some of result.stream<[number, string]>()) {
    first ||= Date.now() - started;
    for (const row of some) {
      sum += Number(row.json<[number, string]>()[0]);
      count += 1;
    }
  }
  expect({ count, sum }).toEqual({ count: 2_000_000, sum: (2_000_000 * 1_999_999) / 2 });
  expect(first).toBeLessThan((Date.now() - started) / 2);
});

test('a long result is one document in every format', async () => {
  const query = 'SELECT number AS n FROM numbers(300000)';
  const json = await (await client.query({ query, format: 'JSON' })).json<{ n: number }>();
  expect([json.data.length, json.rows]).toEqual([300_000, 300_000]);
  const csv = (await rawRequest(url, { query: `${query} FORMAT CSVWithNames` })).body.trimEnd().split('\n');
  expect([csv[0], csv.length, csv.filter((line) => line === '"n"').length]).toEqual(['"n"', 300_001, 1]);
  const xml = (await rawRequest(url, { query: `${query} FORMAT XML` })).body;
  expect(xml.match(/<\?xml/g)).toHaveLength(1);
});

test('an error in the middle of a result reaches the reader as that error', async () => {
  const query =
    "SELECT throwIf(number = 500000, 'in the middle') AS n, repeat('x', 20) AS filler FROM numbers(100000000)";
  const result = await client.query({ query, format: 'JSONEachRow', clickhouse_settings: { max_block_size: '65536' } });
  let count = 0;
  const read = async () => {
    for await (const some of result.stream()) count += some.length;
  };
  await expect(read()).rejects.toMatchObject({ code: '395' });
  expect(count).toBeGreaterThan(0);
});

test('a caller who goes away ends the query in the engine', async () => {
  const abort = new AbortController();
  const query = `${endless} /* gone 1 */`;
  const result = client.query({ query, format: 'JSONEachRow', abort_signal: abort.signal });
  await untilRunning('gone 1', 1);
  abort.abort();
  await expect(result).rejects.toThrow('aborted');
  await untilRunning('gone 1', 0);
});

test('a reader who stops reading ends the query in the engine', async () => {
  const abort = new AbortController();
  const query = 'SELECT number FROM numbers(100000000000) /* gone 2 */';
  const result = await client.query({ query, format: 'JSONEachRow', abort_signal: abort.signal });
  for await (const some of result.stream()) {
    if (some.length > 0) break;
  }
  abort.abort();
  await untilRunning('gone 2', 0);
});

test('look-ups are answered while long queries run', async () => {
  const abort = new AbortController();
  const long = Array.from({ length: 2 }, () =>
    client.query({ query: `${endless} /* long */`, abort_signal: abort.signal }).catch(() => undefined),
  );
  await untilRunning('/* long */', 2);
  const started = Date.now();
  for (let at = 0; at < 20; at += 1) {
    const answer = await rawRequest(url, { query: 'SELECT row FROM state WHERE ruc = 20000000007' });
    expect(answer.body).toBe('row 7\n');
  }
  expect(Date.now() - started).toBeLessThan(10_000);
  abort.abort();
  await Promise.all(long);
  await untilRunning('/* long */', 0);
});

test('no answer ever goes to another query', async () => {
  const workers = 24;
  const each = 100;
  const query =
    'SELECT ruc, row, {tag:String} AS tag FROM state WHERE ruc IN ({ks:Array(UInt64)}) ORDER BY ruc LIMIT 1 BY ruc';
  let wrong = 0;
  let failed = 0;
  let asked = 0;
  const one = async (worker: number, turn: number) => {
    asked += 1;
    const keys = Array.from(
      { length: 1 + (turn % 4) },
      (_, at) => (worker * 7919 + turn * 104_729 + at * 31) % 200_000,
    ).sort((a, b) => a - b);
    const tag = `${worker}/${turn}`;
    // Every tenth query fails, half of them after sending rows, which the next query must not receive.
    if (turn % 10 === 5) {
      const limit = turn % 20 === 5 ? 100_000 : 0;
      const broken = `SELECT throwIf(number = {limit:UInt64}) FROM numbers(200000) FORMAT CSV`;
      const answer = await rawRequest(url, { query: broken, param_limit: String(limit), param_tag: tag });
      if (answer.headers['x-clickhouse-exception-code'] !== '395') failed += 1;
      return;
    }
    const result = await client.query({
      query,
      format: 'JSONEachRow',
      query_params: { ks: keys.map((key) => 20_000_000_000 + key), tag },
      clickhouse_settings: { max_threads: 1 + (turn % 2), output_format_json_quote_64bit_integers: 0 },
    });
    const expected = keys.map((key) => ({ ruc: 20_000_000_000 + key, row: `row ${key}`, tag }));
    if (JSON.stringify(await result.json()) !== JSON.stringify(expected)) wrong += 1;
  };
  const work = async (worker: number) => {
    for (let turn = 0; turn < each; turn += 1) await one(worker, turn);
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
  expect({ asked, wrong, failed }).toEqual({ asked: workers * each, wrong: 0, failed: 0 });
}, 300_000);

test('the newest version of a key, which may say that it is deleted', async () => {
  const columns = 'ruc UInt64, version UInt64, is_deleted UInt8, row String';
  await client.command({
    query: `CREATE TABLE versions (${columns}) ENGINE = ReplacingMergeTree(version) ORDER BY ruc`,
  });
  await client.command({ query: 'SYSTEM STOP MERGES versions' });
  for (const values of ["(1, 1, 0, 'old'), (2, 1, 0, 'kept')", "(1, 2, 1, '')", "(2, 1, 0, 'kept')"])
    await client.command({ query: `INSERT INTO versions VALUES ${values}` });
  const query =
    'SELECT ruc, version, is_deleted, row FROM versions WHERE ruc IN (1, 2) ORDER BY ruc, version DESC LIMIT 1 BY ruc';
  const result = await client.query({ query, format: 'JSONCompactEachRow' });
  expect(await result.json()).toEqual([
    [1, 2, 1, ''],
    [2, 1, 0, 'kept'],
  ]);
});
