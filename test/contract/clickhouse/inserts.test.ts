import http from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { ClickHouseClient } from '@clickhouse/client';
import { beforeEach, describe, expect, test } from 'vitest';
import { rawRequest } from '../../support/engines/clickhouse.ts';
import { inFreshDatabase } from './database.ts';

let client: ClickHouseClient;
let url: string;

inFreshDatabase((made) => {
  ({ client, url } = made);
});

beforeEach(async () => {
  await client.command({ query: 'CREATE OR REPLACE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a' });
});

const all = async () =>
  (await client.query({ query: 'SELECT a, s FROM t ORDER BY a, s', format: 'JSONCompactEachRow' })).json();
const written = (headers: http.IncomingHttpHeaders) =>
  (JSON.parse(String(headers['x-clickhouse-summary'])) as { written_rows: string }).written_rows;

describe('what a client sends', () => {
  test('arrays of objects, and the number of rows in the summary', async () => {
    const result = await client.insert({
      table: 't',
      values: [
        { a: 1, s: 'x' },
        { a: 2, s: 'ñ "\n' },
      ],
      format: 'JSONEachRow',
    });
    expect(result.summary?.written_rows).toBe('2');
    expect(await all()).toEqual([
      [1, 'x'],
      [2, 'ñ "\n'],
    ]);
  });

  test('streams of objects, of CSV and of arrays', async () => {
    const objects = Readable.from(Array.from({ length: 5000 }, (_, a) => ({ a, s: 'o' })));
    await client.insert({ table: 't', values: objects, format: 'JSONEachRow' });
    const csv = Readable.from(['5000,"c"\n', '5001,"c,', 'd"\n'], { objectMode: false });
    await client.insert({ table: 't', values: csv, format: 'CSV' });
    await client.insert({ table: 't', values: [[5002, 'x']], format: 'JSONCompactEachRow' });
    await client.insert({ table: 't', values: [{ a: 5003 }], format: 'JSONEachRow', columns: ['a'] });
    const rows = await all();
    expect(rows.length).toBe(5004);
    expect(rows.slice(-4)).toEqual([
      [5000, 'c'],
      [5001, 'c,d'],
      [5002, 'x'],
      [5003, ''],
    ]);
  });

  test('RowBinary, whose bytes may be anything', async () => {
    // Key 0x0a0a and the text "\n\n" contain two line feeds, which end inline data in the engine.
    const row = Buffer.from([10, 10, 0, 0, 0, 0, 0, 0, 2, 10, 10]);
    const values = Readable.from([Buffer.concat([row, row, row])], { objectMode: false });
    const result = await client.exec({ query: 'INSERT INTO t (a, s) FORMAT RowBinary', values });
    expect(await result.stream.toArray()).toEqual([]);
    expect(result.summary?.written_rows).toBe('3');
    expect(await all()).toEqual([
      [2570, '\n\n'],
      [2570, '\n\n'],
      [2570, '\n\n'],
    ]);
  });

  test('Native and Parquet, as they were read', async () => {
    await client.command({ query: "INSERT INTO t SELECT number, concat('\n\n;', number) FROM numbers(1000)" });
    const before = await all();
    for (const format of ['Native', 'Parquet', 'ArrowStream']) {
      const read = await client.exec({ query: `SELECT a, s FROM t FORMAT ${format}` });
      const bytes = Buffer.concat(await read.stream.toArray());
      await client.command({ query: 'TRUNCATE TABLE t' });
      const answer = await rawRequest(url, { query: `INSERT INTO t FORMAT ${format}` }, { body: bytes });
      expect([answer.status, written(answer.headers)]).toEqual([200, '1000']);
      expect(await all()).toEqual(before);
    }
  });

  test('VALUES in a command, a semicolon and blank lines inside', async () => {
    const result = await client.command({ query: "INSERT INTO t VALUES (1, ';\n\nDROP TABLE t;'), (2, '''') ;" });
    expect(result.summary?.written_rows).toBe('2');
    expect(await all()).toEqual([
      [1, ';\n\nDROP TABLE t;'],
      [2, "'"],
    ]);
  });

  test('statement and rows in one body, with settings', async () => {
    const body = 'INSERT INTO t SETTINGS max_threads = 1 FORMAT JSONEachRow\n{"a":1,"s":"x"}\n{"a":2,"s":"y"}';
    const answer = await rawRequest(url, {}, { body });
    expect([answer.status, written(answer.headers)]).toEqual([200, '2']);
    expect(await all()).toEqual([
      [1, 'x'],
      [2, 'y'],
    ]);
  });

  test('statement and many rows in one body', async () => {
    const lines = Array.from({ length: 200_000 }, (_, a) => `${a},"x\n\n;"`);
    const answer = await rawRequest(url, {}, { body: `INSERT INTO t FORMAT CSV\n${lines.join('\n')}` });
    expect([answer.status, written(answer.headers)]).toEqual([200, '200000']);
  });

  test('INSERT … SELECT, with parameters', async () => {
    const query = 'INSERT INTO t SELECT number, {s:String} FROM numbers({n:UInt64})';
    const result = await client.command({ query, query_params: { s: "it's", n: 3 } });
    expect(result.summary?.written_rows).toBe('3');
    expect(await all()).toEqual([
      [0, "it's"],
      [1, "it's"],
      [2, "it's"],
    ]);
    await client.command({ query: "INSERT INTO t WITH 9 AS x SELECT x, 'with'" });
    expect((await all()).length).toBe(4);
  });

  test('table named by a parameter', async () => {
    const query = 'INSERT INTO {table:Identifier} (a, s) FORMAT TSV';
    const answer = await rawRequest(url, { query, param_table: 't' }, { body: '1\tx\n' });
    expect(answer.status).toBe(200);
    expect(await all()).toEqual([[1, 'x']]);
  });

  test('an empty body inserts nothing', async () => {
    await client.insert({ table: 't', values: [], format: 'JSONEachRow' });
    expect((await rawRequest(url, { query: 'INSERT INTO t FORMAT RowBinary' })).status).toBe(200);
    expect(await all()).toEqual([]);
  });

  test.each([
    ['0', '1'],
    ['1', '1'],
  ])('async_insert = %s, wait = %s', async (async_insert, wait_for_async_insert) => {
    const values = [{ a: 1, s: 'x' }];
    const clickhouse_settings = { async_insert, wait_for_async_insert } as unknown as { async_insert: 0 | 1 };
    await client.insert({ table: 't', values, format: 'JSONEachRow', clickhouse_settings });
    expect(await all()).toEqual([[1, 'x']]);
  });

  test("views, and rows counted by the caller's own table or with them", async () => {
    await client.command({ query: 'CREATE OR REPLACE TABLE copy (a UInt64) ENGINE = MergeTree ORDER BY a' });
    await client.command({ query: 'CREATE MATERIALIZED VIEW IF NOT EXISTS copying TO copy AS SELECT a FROM t' });
    await client.insert({
      table: 't',
      values: [
        { a: 1, s: '' },
        { a: 2, s: '' },
      ],
      format: 'JSONEachRow',
    });
    const result = await client.query({ query: 'SELECT sum(a) AS s FROM copy', format: 'JSONEachRow' });
    expect(await result.json()).toEqual([{ s: 3 }]);
    await client.command({ query: 'DROP VIEW copying' });
  });
});

describe('bodies never become SQL', () => {
  const attack = '\n\nDROP TABLE t;\n';

  test.each([
    ['CSV', `1,"${attack}"\n`],
    ['TabSeparated', `1\tx${attack}`],
    ['JSONEachRow', `{"a":1,"s":"x"}${attack}`],
    ['Values', `(1,'x')${attack}`],
    ['Values', "(1, 'x'); DROP TABLE t"],
    ['RowBinary', Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, attack.length]), Buffer.from(attack)])],
  ])('%s', async (format, body) => {
    await rawRequest(url, { query: `INSERT INTO t FORMAT ${format}` }, { body });
    const left = await rawRequest(url, { query: 'EXISTS TABLE t' });
    expect(left.body).toBe('1\n');
  });
});

describe('what must not be inserted', () => {
  test('bad rows are refused with their place, and none of them is there', async () => {
    const answer = await rawRequest(url, { query: 'INSERT INTO t FORMAT CSV' }, { body: '1,"x"\n2,"y"\nthree,"z"\n' });
    expect(['27', '72', '6']).toContain(answer.headers['x-clickhouse-exception-code']);
    expect(answer.body).toMatch(/at row [23]/);
    expect(answer.body).not.toContain('INFILE');
    expect(await all()).toEqual([]);
    await expect(
      client.insert({ table: 'no_such_table', values: [{ a: 1 }], format: 'JSONEachRow' }),
    ).rejects.toMatchObject({ code: '60' });
    await expect(
      client.insert({
        table: 't',
        values: [{ a: 1, b: 2 }],
        format: 'JSONEachRow',
        clickhouse_settings: { input_format_skip_unknown_fields: 0 },
      }),
    ).rejects.toMatchObject({ code: '117' });
  });

  test.each([
    ['with a length', 'length'],
    ['in chunks', 'chunks'],
    ['compressed', 'gzip'],
  ])('an upload that is cut: %s', async (_, kind) => {
    const { username, password, host, pathname } = new URL(url);
    const search = new URLSearchParams({ database: pathname.slice(1), query: 'INSERT INTO t FORMAT CSV' });
    const request = http.request(`http://${host}/?${search}`, {
      method: 'POST',
      auth: `${username}:${password}`,
      headers: {
        ...(kind === 'length' ? { 'content-length': 1_000_000 } : {}),
        ...(kind === 'gzip' ? { 'content-encoding': 'gzip' } : {}),
      },
      agent: false,
    });
    request.on('error', () => undefined);
    const rows = Buffer.from('1,"x"\n2,"y"\n'.repeat(2000));
    request.write(kind === 'gzip' ? gzipSync(rows) : rows);
    await sleep(200);
    request.destroy();
    await sleep(500);
    expect(await all()).toEqual([]);
  });

  test('a gzip body that ends early or is none', async () => {
    const whole = gzipSync('1,"x"\n'.repeat(1000));
    for (const body of [whole.subarray(0, whole.length - 12), Buffer.from('1,"x"\n')]) {
      const answer = await rawRequest(
        url,
        { query: 'INSERT INTO t FORMAT CSV' },
        { body, headers: { 'content-encoding': 'gzip' } },
      );
      expect(answer.status).toBeGreaterThanOrEqual(400);
    }
    expect(await all()).toEqual([]);
  });
});
