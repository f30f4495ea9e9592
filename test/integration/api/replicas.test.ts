import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makeClickhouse } from '../../../pipelines/runtime/clickhouse.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { company, loadEditions, loadRows } from '../../support/api/loaded-api.ts';
import { liftLimits, makeCaller, type RunningApi, startApi, type TestCaller } from '../../support/api/process.ts';
import { migratedClickhouseDatabase, migratedDatabase } from '../../support/engines/isolation.ts';
import { makeTcpProxy, type TcpProxy } from '../../support/engines/tcp-proxy.ts';

// One API process over two ClickHouse replicas, each behind a line that the test can cut.

const names = ['a', 'b'] as const;
type Name = (typeof names)[number];
const lines = {} as Record<Name, TcpProxy>;
const stops: (() => Promise<unknown>)[] = [];
let pool: Pool;
let api: RunningApi;
let caller: TestCaller;

beforeAll(async () => {
  const endpoints = inject('endpoints');
  const database = await migratedDatabase(endpoints);
  stops.push(() => database.drop());
  pool = makePool(database.DATABASE_URL, 'test', 4);
  stops.push(() => pool.end());
  for (const name of names) {
    const store = await migratedClickhouseDatabase(endpoints);
    const clickhouse = makeClickhouse(store.CLICKHOUSE_URL, 'test', { requestTimeoutMs: 10_000, connections: 2 });
    await loadRows(clickhouse);
    await clickhouse.close();
    lines[name] = await makeTcpProxy(store.CLICKHOUSE_URL);
    stops.push(
      () => store.drop(),
      () => lines[name].stop(),
    );
  }
  await loadEditions(pool);
  await pool.query(`INSERT INTO clickhouse_replica (name, state) SELECT unnest($1::text[]), 'serving'`, [names]);
  await hold('a');
  await hold('b');
  api = await startApi({
    DATABASE_URL: database.DATABASE_URL,
    CLICKHOUSE_REPLICAS: names.map((name) => `${name}=${lines[name].url}`).join(','),
  });
  stops.push(() => api.stop());
  await liftLimits(pool);
  caller = await makeCaller(pool, api.url);
});

afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

async function hold(replica: Name): Promise<void> {
  await pool.query(
    `INSERT INTO replica_edition (replica, register, edition) SELECT $1, register, max(number) FROM edition GROUP BY register`,
    [replica],
  );
}

/** The statuses of everything that reads ClickHouse. */
async function statuses(): Promise<number[]> {
  const answers = await Promise.all([
    caller.request(`/id/v1/ruc/${company}`),
    caller.request(`/id/v1/ruc/${company}?fecha=2026-11-25`),
    caller.request(`/id/v1/ruc/${company}/historial`),
    caller.request('/id/v1/ruc/buscar?q=comercial%20prueba'),
    caller.request('/id/v1/ruc/batch', { method: 'POST', json: { rucs: [company] } }),
    caller.request(`/id/v1/proveedor/${company}`),
  ]);
  return answers.map(({ status }) => status);
}

const allRight = [200, 200, 200, 200, 200, 200];

async function asked(): Promise<Record<string, number>> {
  const text = await (await fetch(`${api.healthUrl}/metrics`)).text();
  const found = text.matchAll(/^padron_api_replica_asked\{.*replica="(\w+)".*\} ([01])$/gm);
  return Object.fromEntries([...found].map(([, name, value]) => [name, Number(value)]));
}

const readyz = async () => (await fetch(`${api.healthUrl}/readyz`)).json();

test('no caller notices that a replica goes away or hangs, and it is asked again by itself', async () => {
  expect(await statuses()).toEqual(allRight);
  for (const name of names) {
    await lines[name].cut();
    expect(await statuses()).toEqual(allRight);
    await expect.poll(asked).toMatchObject({ [name]: 0 });
    expect(await statuses()).toEqual(allRight);
    expect(await readyz()).toEqual({ status: 'ok' });
    await lines[name].mend();
    await expect.poll(asked).toEqual({ a: 1, b: 1 });
  }
  lines.b.freeze();
  expect(await statuses()).toEqual(allRight);
  await expect.poll(asked).toEqual({ a: 1, b: 0 });
  lines.b.thaw();
  await expect.poll(asked).toEqual({ a: 1, b: 1 });
});

test('a replica that lacks a served edition serves nothing until it holds it', async () => {
  await pool.query(`UPDATE replica_edition SET edition = 1 WHERE replica = 'b' AND register = 'padron_reducido'`);
  await expect.poll(asked).toEqual({ a: 1, b: 0 });
  await lines.a.cut();
  await expect.poll(statuses).toEqual([503, 503, 503, 503, 503, 503]);
  expect(await readyz()).toMatchObject({ reason: expect.stringContaining('b: it does not hold the served editions') });
  await pool.query(`UPDATE replica_edition SET edition = 2 WHERE replica = 'b' AND register = 'padron_reducido'`);
  await expect.poll(statuses).toEqual(allRight);
  await lines.a.mend();
  await expect.poll(asked).toEqual({ a: 1, b: 1 });
});

test('a replica that the catalogue stops is not asked', async () => {
  await pool.query(`UPDATE clickhouse_replica SET state = 'joining' WHERE name = 'b'`);
  await expect.poll(asked).toEqual({ a: 1, b: 0 });
  await pool.query(
    `UPDATE clickhouse_replica SET state = 'serving', store = 'of a disk that was lost' WHERE name = 'b'`,
  );
  await lines.a.cut();
  await expect.poll(readyz).toMatchObject({ reason: expect.stringContaining('b: its store is a new one') });
  await lines.a.mend();
});
