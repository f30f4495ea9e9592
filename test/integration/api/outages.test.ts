import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readUse } from '../../../api/metering/ledger.ts';
import { monthOf } from '../../../api/metering/minute-limits.ts';
import { company, person, startLoadedApi } from '../../support/api/loaded-api.ts';
import { type MovableApis, startMovableApis } from '../../support/api/movable-api.ts';
import { expectProblem, makeCaller, requestsOf, type TestCaller } from '../../support/api/process.ts';
import type { Surroundings } from '../../support/api/surroundings.ts';

// While one engine is down some routes give 503 and others go on. All of them recover by themselves.

let around: Surroundings;
let caller: TestCaller;

type Ask = (request: TestCaller['request']) => Promise<Response>;
const get =
  (target: string): Ask =>
  (request) =>
    request(target);

const taxpayerRoutes: readonly (readonly [string, Ask])[] = [
  ['a look-up', get(`/id/v1/ruc/${company}`)],
  ['a look-up of a day', get(`/id/v1/ruc/${company}?fecha=2026-11-25`)],
  ['history', get(`/id/v1/ruc/${company}/historial`)],
  ['search', get('/id/v1/ruc/buscar?q=comercial%20prueba')],
  ['a RUC that is searched for', get(`/id/v1/ruc/buscar?q=${company}`)],
  ['a batch', (request) => request('/id/v1/ruc/batch', { method: 'POST', json: { rucs: [company] } })],
  ['a supplier check', get(`/id/v1/proveedor/${company}`)],
];
const calendarRoutes = [
  '/id/v1/calendario/feriados/2026',
  '/id/v1/calendario/2026-07-28',
  '/id/v1/calendario/plazo?desde=2026-07-24&dias=3',
  '/id/v1/vencimientos/2026',
  '/id/v1/vencimientos/proximos?digito=3',
  '/id/v1/vencimientos.ics?digito=3',
  '/id/v1/calendario/feriados.ics',
].map((target) => [target, get(target)] as const);

beforeAll(async () => {
  ({ around, caller } = await startLoadedApi());
});
afterAll(() => around?.stop());

async function statusesOf(
  routes: readonly (readonly [string, Ask])[],
  request = caller.request,
): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  for (const [name, ask] of routes) {
    const response = await ask(request);
    await response.arrayBuffer();
    statuses[name] = response.status;
  }
  return statuses;
}

const all = (routes: readonly (readonly [string, Ask])[], status: number) =>
  Object.fromEntries(routes.map(([name]) => [name, status]));

const usedBy = async ({ accountId }: TestCaller) =>
  (await readUse(around.pool, accountId, monthOf(Date.now()).firstDay))?.used;

describe('ClickHouse down', () => {
  test('every taxpayer route gives 503 with Retry-After and charges nothing; calendar and account answer', async () => {
    await expect.poll(() => statusesOf(taxpayerRoutes), { timeout: 10_000 }).toEqual(all(taxpayerRoutes, 200));
    await around.clickhouseLine.cut();
    try {
      const by = await makeCaller(around.pool, around.api.url);
      for (const [name, ask] of taxpayerRoutes) {
        const problem = await expectProblem(await ask(by.request), 'servicio_no_disponible');
        expect([name, problem.encontrado]).toEqual([name, undefined]);
      }
      expect(await statusesOf(calendarRoutes, by.request)).toEqual(all(calendarRoutes, 200));
      expect((await by.request('/id/v1/cuenta')).status).toBe(200);
      expect(await usedBy(by)).toBe(0);
    } finally {
      await around.clickhouseLine.mend();
    }
    await expect.poll(() => statusesOf(taxpayerRoutes), { timeout: 20_000 }).toEqual(all(taxpayerRoutes, 200));
  });
});

describe('PostgreSQL down', () => {
  let movable: MovableApis;
  beforeAll(async () => {
    movable = await startMovableApis(1, {
      DATABASE_URL: around.postgresLine.url,
      CLICKHOUSE_URL: around.clickhouseLine.url,
    });
  });
  afterAll(() => movable?.stop());

  test('a known token goes on for 60 s without charge, then gets 503; the calendar always answers; all recover', async () => {
    const known = await makeCaller(around.pool, movable.apis[0]!.url);
    const { request } = known;
    const stranger = await makeCaller(around.pool, movable.apis[0]!.url);
    const path = `/id/v1/ruc/${company}`;
    await expect.poll(async () => (await request(path)).status, { timeout: 10_000 }).toBe(200);
    await expect.poll(() => usedBy(known)).toBe(1);
    await around.postgresLine.cut();
    try {
      for (const aheadMs of [0, 5_500, 20_000, 20_000]) {
        await movable.moveOn(aheadMs);
        const answers = await Promise.all(Array.from({ length: 5 }, () => request(path)));
        expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
        // An answer that must be recorded first is not given, and an unknown token is refused.
        await expectProblem(await request(`/id/v1/proveedor/${company}`), 'servicio_no_disponible');
        await expectProblem(await stranger.request(path), 'servicio_no_disponible');
        await expectProblem(await stranger.request(`/id/v1/ruc/${person}`), 'servicio_no_disponible');
        expect(await statusesOf(calendarRoutes, request)).toEqual(all(calendarRoutes, 200));
      }
      await movable.moveOn(16_000);
      await expectProblem(await request(path), 'servicio_no_disponible');
      expect(await statusesOf(calendarRoutes, request)).toEqual(all(calendarRoutes, 200));
      // The sandbox token needs no engine at all.
      expect(await statusesOf(calendarRoutes, requestsOf(movable.apis[0]!.url, 'pad_sandbox_publico'))).toEqual(
        all(calendarRoutes, 200),
      );
    } finally {
      await around.postgresLine.mend();
    }
    await expect.poll(async () => (await request(path)).status, { timeout: 20_000, interval: 500 }).toBe(200);
    // The look-ups before and after the outage are charged, those during it are not.
    await expect.poll(() => usedBy(known), { timeout: 10_000 }).toBe(2);
    expect((await stranger.request(path)).status).toBe(200);
  });
});
