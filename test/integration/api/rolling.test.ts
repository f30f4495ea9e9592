import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makeClickhouse } from '../../../pipelines/runtime/clickhouse.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { liftLimits, makeCaller, startApi } from '../../support/api/process.ts';
import { SteadyCalls } from '../../support/api/steady-calls.ts';
import { migratedClickhouseDatabase, migratedDatabase } from '../../support/engines/isolation.ts';
import { Balancer } from '../../support/process/balancer.ts';
import { errorLines, type RunningProcess, untilReady } from '../../support/process/product-process.ts';
import { insertEdition, insertTaxpayers } from '../../support/registers/served-register.ts';

const ruc = '20131312955';
const name = 'EMPRESA DE PRUEBA S.A.C.';
let environment: Record<string, string>;
let pool: Pool;
const drops: (() => Promise<unknown>)[] = [];
const running: RunningProcess[] = [];

beforeAll(async () => {
  const endpoints = inject('endpoints');
  const database = await migratedDatabase(endpoints);
  const store = await migratedClickhouseDatabase(endpoints);
  pool = makePool(database.DATABASE_URL, 'test', 2);
  drops.push(() => pool.end(), database.drop, store.drop);
  const clickhouse = makeClickhouse(store.CLICKHOUSE_URL, 'test', { requestTimeoutMs: 10_000, connections: 1 });
  await insertTaxpayers(clickhouse, [{ line: `${ruc}|${name}|ACTIVO|HABIDO|150101|-|-|-|-|-|-|-|-|-|-|` }]);
  await clickhouse.close();
  await insertEdition(pool, { number: 1, fechaDato: '2026-11-25' });
  await liftLimits(pool);
  environment = {
    DATABASE_URL: database.DATABASE_URL,
    CLICKHOUSE_URL: store.CLICKHOUSE_URL,
    REQUIRED_REGISTERS: 'padron_reducido',
    // Five times as long as the balancer needs to see that a process stops.
    STOP_DRAIN_MS: '1000',
  };
});
afterAll(async () => {
  await Promise.all(running.map((api) => api.stop()));
  for (const drop of drops) await drop();
});

// Two processes start together and two one after another, which takes a minute or two on a busy machine.
test('two APIs behind a balancer are replaced one after the other, and no look-up fails', {
  timeout: 240_000,
}, async () => {
  const balancer = await Balancer.start();
  const add = async () => {
    const api = await startApi(environment);
    running.push(api);
    await untilReady(api);
    balancer.add(api);
    return api;
  };
  try {
    const first = await Promise.all([add(), add()]);
    const { token } = await makeCaller(pool, balancer.url);
    const calls = new SteadyCalls(balancer.url, token, 50, () => ({ path: `/id/v1/ruc/${ruc}`, expected: name }));
    for (const api of first) {
      await expect.poll(() => balancer.connections.get(api) ?? 0).toBeGreaterThan(0);
      expect(await api.stop()).toBe(0);
      balancer.remove(api);
      await add();
    }
    const { asked, failures } = await calls.stop();
    expect(failures, running.flatMap(errorLines).join('\n')).toEqual([]);
    expect(asked).toBeGreaterThan(100);
    // While the second process was replaced, the first new one served everything.
    expect(balancer.connections.get(running[2]!)).toBeGreaterThan(0);
  } finally {
    await balancer.stop();
  }
});
