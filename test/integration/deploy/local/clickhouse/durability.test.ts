import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ClickhouseProcess, rawRequest, startClickhouse } from '../../../../support/engines/clickhouse.ts';

// kill -9 in the middle of inserts, several times on one directory. Every acknowledged batch is there, and none in
// part.

let data: string;
let started: ClickhouseProcess[];

beforeEach(() => {
  started = [];
  data = mkdtempSync(path.join(tmpdir(), 'padron-clickhouse-'));
});

afterEach(async () => {
  for (const process of started) await process.end('SIGKILL');
  rmSync(data, { recursive: true, force: true });
});

const start = async () => {
  const process = await startClickhouse(data);
  started.push(process);
  return process;
};

const rounds = 4;
const writers = 3;
const rowsPerBatch = 2_000;
const table = `CREATE TABLE IF NOT EXISTS t (batch UInt32, n UInt32) ENGINE = MergeTree ORDER BY (batch, n)
  SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`;

test('nothing acknowledged is lost, nothing is there in part', async () => {
  const acknowledged = new Set<number>();
  let next = 0;
  for (let round = 0; round < rounds; round += 1) {
    const process = await start();
    const { url } = process;
    expect((await rawRequest(url, {}, { body: table })).status).toBe(200);
    const write = async () => {
      for (;;) {
        const batch = next++;
        const body = Array.from({ length: rowsPerBatch }, (_, n) => `${batch},${n}`).join('\n');
        const answer = await rawRequest(url, { query: 'INSERT INTO t FORMAT CSV' }, { body });
        if (answer.status !== 200) throw new Error(answer.body);
        acknowledged.add(batch);
      }
    };
    const writing = Array.from({ length: writers }, () => write().catch((error: Error) => error));
    await sleep(600 + round * 137);
    await process.end('SIGKILL');
    for (const error of await Promise.all(writing)) expect(String(error)).toMatch(/ECONN|socket hang up|aborted/);
  }
  const { url, end } = await start();
  const query = 'SELECT batch, count(), uniqExact(n) FROM t GROUP BY batch ORDER BY batch FORMAT TSV';
  const lines = (await rawRequest(url, { query })).body.trim().split('\n');
  const found = new Map(lines.map((line) => [Number(line.split('\t')[0]), line.split('\t').slice(1)]));
  const whole = [String(rowsPerBatch), String(rowsPerBatch)];
  expect([...acknowledged].filter((batch) => !found.has(batch))).toEqual([]);
  expect([...found].filter(([, counts]) => counts.join() !== whole.join())).toEqual([]);
  expect(acknowledged.size).toBeGreaterThan(rounds);
  expect(readdirSync(path.join(data, 'spool')).filter((name) => name.startsWith('body-'))).toEqual([]);
  expect((await rawRequest(url, { query: 'CHECK TABLE t' })).body).not.toMatch(/\t0\t/);
  expect(await end('SIGTERM')).toBe(0);
});
