import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type ClickhouseProcess,
  quietClient,
  rawRequest,
  spawnClickhouse,
  startClickhouse,
} from '../../../../support/engines/clickhouse.ts';

// Tests of what a ClickHouse server does not share: data directory, folder of bodies, limits, stop.

let data: string;
let started: ClickhouseProcess[];

beforeEach(() => {
  data = mkdtempSync(path.join(tmpdir(), 'padron-clickhouse-'));
  started = [];
});

afterEach(async () => {
  for (const process of started) await process.end('SIGKILL');
  rmSync(data, { recursive: true, force: true });
});

const start = async (limits: Parameters<typeof startClickhouse>[1] = {}) => {
  const process = await startClickhouse(data, limits);
  started.push(process);
  return process;
};
const bodies = () => readdirSync(path.join(data, 'spool')).filter((name) => name.startsWith('body-'));
const endless = 'SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 0';

test('--help says what it is and takes', async () => {
  const child = spawnClickhouse(['--help']);
  const output = await text(child.stdout!);
  expect(output).toContain('--data <directory>');
  expect(output).toContain('127.0.0.1');
  if (child.exitCode === null) await once(child, 'exit');
  expect(child.exitCode).toBe(0);
});

test('a wrong option is reported in one line', async () => {
  const child = spawnClickhouse(['--data', data, '--port', '99999999', '--limits', '{"maxReads":-1}']);
  const [output, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
  expect(code).toBe(2);
  expect(output).toContain('port');
  expect(output).toContain('maxReads');
});

test('a second process on the directory is refused, and the first goes on', async () => {
  const first = await start();
  writeFileSync(path.join(data, 'spool', 'body-of-the-first'), '');
  const second = spawnClickhouse(['--data', data, '--port', '0']);
  const [output, [code]] = await Promise.all([text(second.stderr!), once(second, 'exit')]);
  expect(code).toBe(1);
  expect(output).toContain('another process uses it');
  expect(existsSync(path.join(data, 'spool', 'body-of-the-first'))).toBe(true);
  expect((await rawRequest(first.url, { query: 'SELECT 1' })).body).toBe('1\n');
});

test('its database is one for migrations, and only loopback reaches it', async () => {
  const { url } = await start();
  const engine = "SELECT engine FROM system.databases WHERE name = 'padron'";
  expect((await rawRequest(url, { query: engine })).body).toBe('Atomic\n');
  const outside = Object.values(networkInterfaces())
    .flat()
    .filter((address) => address?.family === 'IPv4' && !address.internal)
    .map((address) => address!.address);
  for (const address of outside)
    await expect(fetch(`http://${address}:${new URL(url).port}/ping`)).rejects.toThrow('fetch failed');
  const settings = "SELECT getSetting('async_insert'), getSetting('max_insert_threads')";
  expect((await rawRequest(url, { query: settings })).body).toBe('false\t1\n');
});

test('SIGTERM lets a running query end and answers it', async () => {
  const process = await start();
  const query = 'SELECT sum(sleepEachRow(0.1)) FROM numbers(15) SETTINGS max_block_size = 1';
  const answer = rawRequest(process.url, { query });
  await sleep(400);
  const ended = process.end('SIGTERM');
  expect(await answer).toMatchObject({ status: 200, body: '0\n' });
  expect(await ended).toBe(0);
});

test('SIGTERM kills what does not end in time', async () => {
  const process = await start({ drainTimeoutMs: 300 });
  const answer = rawRequest(process.url, { query: endless }).catch(() => undefined);
  await sleep(500);
  const asked = Date.now();
  expect(await process.end('SIGTERM')).toBe(0);
  expect(Date.now() - asked).toBeLessThan(15_000);
  await answer;
});

test('without the threads in its environment it does not start', async () => {
  const child = spawnClickhouse(['--data', data, '--port', '0'], {});
  const [output, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
  expect(code).toBe(2);
  expect(output).toContain('UV_THREADPOOL_SIZE=16');
});

test('bodies do not stay: not after an insert, not after a failed one, not after a cut one, not over a restart', async () => {
  mkdirSync(path.join(data, 'spool'), { recursive: true });
  writeFileSync(path.join(data, 'spool', 'body-left-over'), '1\n');
  const { url } = await start();
  expect(bodies()).toEqual([]);
  await rawRequest(url, { query: 'CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a' });
  await rawRequest(url, { query: 'INSERT INTO t FORMAT CSV' }, { body: '1\n' });
  await rawRequest(url, { query: 'INSERT INTO t FORMAT CSV' }, { body: 'x\n' });
  await rawRequest(url, { query: 'INSERT INTO nowhere FORMAT CSV' }, { body: '1\n' });
  expect(bodies()).toEqual([]);
});

test('limits answer with their error: body, query, held result, queue', async () => {
  const { url } = await start({
    maxBodyBytes: 1_000,
    maxQueryBytes: 20_000,
    maxHeldResultBytes: 10_000,
    maxReads: 1,
    maxStreams: 1,
    maxWaiting: 1,
    maxWaitMs: 300,
  });
  await rawRequest(url, { query: 'CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a' });
  const code = async (...of: Parameters<typeof rawRequest>) =>
    (await rawRequest(...of)).headers['x-clickhouse-exception-code'];
  const query = 'INSERT INTO t FORMAT CSV';
  expect(await code(url, { query }, { body: '1\n'.repeat(501) })).toBe('307');
  expect(await code(url, { query }, { body: '1\n'.repeat(5_000_000) })).toBe('307');
  expect((await rawRequest(url, { query }, { body: '1\n'.repeat(500) })).status).toBe(200);
  expect(await code(url, {}, { body: `SELECT 1 ${' '.repeat(20_000)}` })).toBe('229');
  const long = 'SELECT number FROM numbers(100000)';
  expect(await code(url, { query: long, wait_end_of_query: '1' })).toBe('396');
  const abort = new AbortController();
  const client = quietClient(url);
  const running = client.query({ query: endless, abort_signal: abort.signal }).catch(() => undefined);
  await sleep(300);
  const waiting = code(url, { query: 'SELECT 1' });
  await sleep(50);
  expect(await code(url, { query: 'SELECT 1' })).toBe('202');
  expect(await waiting).toBe('202');
  abort.abort();
  await running;
  await client.close();
  await expect.poll(async () => (await rawRequest(url, { query: 'SELECT 1' })).body, { timeout: 10_000 }).toBe('1\n');
});

test('a reader that stands still is given up, and the slot is free again', async () => {
  const { url } = await start({ sendTimeoutMs: 500, maxReads: 1, maxStreams: 1 });
  const client = quietClient(url);
  const result = await client.query({ query: 'SELECT number FROM numbers(100000000000)', format: 'JSONEachRow' });
  result.stream().pause();
  const count =
    "SELECT count() FROM system.processes WHERE query LIKE '%100000000000%' AND query NOT LIKE '%processes%'";
  await expect.poll(async () => (await rawRequest(url, { query: count })).body, { timeout: 15_000 }).toBe('0\n');
  result.close();
  await client.close();
});

test('an upload that stands still is given up', async () => {
  const { url } = await start({ uploadIdleTimeoutMs: 300, maxConcurrentUploads: 1 });
  await rawRequest(url, { query: 'CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a' });
  const { host } = new URL(url);
  const { request } = await import('node:http');
  const query = encodeURIComponent('INSERT INTO padron.t FORMAT CSV');
  const upload = request(`http://${host}/?query=${query}`, { method: 'POST', auth: 'padron:secret', agent: false });
  const failed = new Promise((resolve) => upload.once('error', resolve));
  upload.write('1\n');
  await failed;
  expect((await rawRequest(url, { query: 'INSERT INTO t FORMAT CSV' }, { body: '2\n' })).status).toBe(200);
  expect((await rawRequest(url, { query: 'SELECT a FROM t' })).body).toBe('2\n');
});

test('an error in the middle of a result stands between tags, and the body has no end', async () => {
  const { url } = await start();
  const query = "SELECT throwIf(number = 5000000, 'ours') FROM numbers(10000000) FORMAT RowBinary";
  const answer = await rawRequest(url, { query });
  const tag = String(answer.headers['x-clickhouse-exception-tag']);
  expect(answer.cut).toBe(true);
  expect(answer.body.slice(-2_000)).toMatch(
    new RegExp(`\r\n__exception__\r\n${tag}\r\nCode: 395[^]*\n\\d+ ${tag}\r\n__exception__\r\n$`),
  );
});
