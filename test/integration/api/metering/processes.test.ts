import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createToken } from '../../../../api/accounts/tokens.ts';
import { restMs } from '../../../../api/metering/charge-groups.ts';
import { freshMs } from '../../../../api/metering/meter.ts';
import { monthOf } from '../../../../api/metering/minute-limits.ts';
import { credit } from '../../../../api/operators/customers.ts';
import { accountAnswer } from '../../../../schemas/http/account.ts';
import { limaTime } from '../../../../schemas/lima-time.ts';
import { makePayer } from '../../../support/api/meters.ts';
import {
  expectProblem,
  makeCaller,
  type RunningApi,
  requestsOf,
  startApi,
  type TestCaller,
} from '../../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../../support/api/surroundings.ts';
import { insertEdition, insertTaxpayers, untilCatalogueIsRead } from '../../../support/registers/served-register.ts';

/** Who acts in these tests. */
const operator = { name: 'prueba', way: 'command' } as const;

const quota = 10_000;
const quotaOfKilled = 1_000;
const callers = 200;
const company = '20990000019';
const unknown = '20131312955';
const cells = 'COMERCIAL PRUEBA UNO S.A.C.|ACTIVO|HABIDO|150122|AV.|EJEMPLO DEL NORTE|-|-|055|-|-|-|-|-|';

let around: Surroundings;
let apis: RunningApi[];

beforeAll(async () => {
  around = await startSurroundings({ REQUIRED_REGISTERS: 'padron_reducido' });
  const environment = {
    DATABASE_URL: around.postgresLine.url,
    CLICKHOUSE_URL: around.clickhouseLine.url,
  };
  await insertTaxpayers(around.clickhouse, [{ line: `${company}|${cells}` }]);
  await insertEdition(around.pool, { number: 1, fechaDato: '2026-11-26' });
  await untilCatalogueIsRead();
  apis = [around.api];
  for (let number = 1; number < 4; number += 1) apis.push(await startApi(environment));
});
afterAll(async () => {
  await Promise.all(apis.slice(1).map((api) => api.stop()));
  await around.stop();
});

async function customer(perMonth: number, perMinute?: number): Promise<{ at: TestCaller['request'][] }> {
  const { accountId } = await makePayer(around.pool, perMonth, perMinute);
  const { token } = (await createToken(around.pool, accountId))!;
  return { at: apis.map((api) => requestsOf(api.url, token)) };
}

/** Each caller asks all processes in turn until it is refused. One look-up in ten is of a RUC that nobody has. */
async function askUntilRefused(
  at: readonly TestCaller['request'][],
  onFound: (process: number) => void,
): Promise<void> {
  const caller = async (first: number) => {
    for (let number = first; ; number += 1) {
      const process = number % at.length;
      const response = await at[process]!(`/id/v1/ruc/${number % 10 === 0 ? unknown : company}`).catch(() => null);
      if (response?.status === 200) onFound(process);
      if (response?.status === 429) return void (await expectProblem(response, 'cuota_agotada'));
      await response?.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, number) => caller(number)));
}

test(`four processes, ${callers} callers, quota ${quota}: exactly so many found look-ups are answered`, {
  timeout: 600_000,
}, async () => {
  const { at } = await customer(quota);
  let found = 0;
  const count = () => {
    found += 1;
  };
  await askUntilRefused(at, count);
  expect(found).toBe(quota);
  await vi.waitFor(async () => {
    const { data } = accountAnswer.parse(await (await at[1]!('/id/v1/cuenta')).json());
    expect(data.cuota).toMatchObject({ limite: quota, usada: quota, saldo_prepago: 0 });
  }, 20_000);
});

test('the headers say what is left, of the minute and of the month; errors and unknown RUCs are free, HEAD and 304 are not', async () => {
  const { at } = await customer(100, 50);
  const get = at[0]!;
  const first = await get(`/id/v1/ruc/${company}`);
  const { headers } = first;
  expect(headers.get('ratelimit-policy')).toMatch(/^"minuto";q=50;w=60, "mes";q=100;w=2[4-6]\d{5}$/);
  expect(headers.get('ratelimit')).toMatch(/^"minuto";r=49;t=\d+, "mes";r=99;t=\d+$/);
  expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['50', '49']);
  expect(Number(headers.get('x-ratelimit-reset'))).toBeLessThanOrEqual(60);
  await get(`/id/v1/ruc/${company}`, { method: 'HEAD' });
  const again = await get(`/id/v1/ruc/${company}`, { headers: { 'if-none-match': headers.get('etag')! } });
  expect(again.status).toBe(304);
  await expectProblem(await get(`/id/v1/ruc/${unknown}`), 'ruc_no_encontrado');
  await expectProblem(await get('/id/v1/ruc/123'), 'ruc_formato');
  const calendar = await get('/id/v1/calendario/2026-11-28');
  expect(calendar.headers.get('ratelimit')).toMatch(/^"minuto";r=44;t=\d+$/);
  const last = await get(`/id/v1/ruc/${company}`);
  expect(last.headers.get('ratelimit')).toMatch(/"mes";r=96;/);
});

test('the minute limit counts every route at every process; then 429 with the seconds to the next minute', async () => {
  const { at } = await customer(1_000, 20);
  const statuses: number[] = [];
  let refused: Response | undefined;
  // All requests are counted in one minute.
  if (60_000 - (Date.now() % 60_000) < 8_000) await sleep(8_000);
  for (let number = 0; number < 30; number += 1) {
    const route = ['/id/v1/cuenta', '/id/v1/calendario/2026-11-28', `/id/v1/ruc/${company}`][number % 3]!;
    const response = await at[number % 4]!(route);
    statuses.push(response.status);
    if (response.status === 429) refused = response;
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  expect(refused!.headers.get('ratelimit')).toMatch(/^"minuto";r=0;t=\d+$/);
  expect(Number(refused!.headers.get('retry-after'))).toBeLessThanOrEqual(60);
  await expectProblem(refused!, 'limite_por_minuto');
});

test('cuenta: plan, quota, contract, limits; kept nowhere', async () => {
  const contract = { reference: 'CTD-7', from: '2020-01-01', until: null };
  const caller = await makeCaller(around.pool, apis[0]!.url, { plan: 'micro', contract });
  await credit(around.pool, operator, caller.accountId, { units: 25, reference: 'F001-1' });
  const response = await caller.request('/id/v1/cuenta');
  expect(response.headers.get('cache-control')).toBe('no-store');
  const { data } = accountAnswer.parse(await response.json());
  expect(data).toMatchObject({
    plan: 'micro',
    cuota: { usada: 0, saldo_prepago: 25, reinicia_en: limaTime(new Date(monthOf(Date.now()).endsAtMs)) },
    contrato_datos: { referencia: 'CTD-7', desde: '2020-01-01', hasta: null },
    limites: { rucs_por_lote: 100, listas: 1_000, webhooks: 50, rucs_vigilados: 100_000 },
  });
  await expectProblem(await caller.request('/id/v1/cuenta?mes=1'), 'parametro_desconocido');
  const head = await caller.request('/id/v1/cuenta', { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

test('the sandbox token: 60 a minute from one address', async () => {
  if (60_000 - (Date.now() % 60_000) < 8_000) await sleep(8_000);
  const get = requestsOf(apis[1]!.url, 'pad_sandbox_publico');
  const statuses = await Promise.all(
    Array.from({ length: 70 }, async () => (await get('/id/v1/calendario/2026-11-28')).status),
  );
  expect(statuses.filter((status) => status === 200)).toHaveLength(60);
});

test('PostgreSQL down: a known token is served without charge, the calendar answers; both are whole again by themselves', async () => {
  const { at } = await customer(1_000);
  const get = at[2]!;
  const usedNow = async () => accountAnswer.parse(await (await get('/id/v1/cuenta')).json()).data.cuota.usada;
  expect((await get(`/id/v1/ruc/${company}`)).status).toBe(200);
  await vi.waitFor(async () => expect(await usedNow()).toBe(1), 30_000);
  await around.postgresLine.cut();
  for (let number = 0; number < 20; number += 1) expect((await get(`/id/v1/ruc/${company}`)).status).toBe(200);
  expect((await get('/id/v1/calendario/2026-11-28')).status).toBe(200);
  const stranger = requestsOf(apis[2]!.url, `pad_live_${'0'.repeat(16)}_${'1'.repeat(48)}`);
  await expectProblem(await stranger(`/id/v1/ruc/${company}`), 'servicio_no_disponible');
  await expectProblem(await get('/id/v1/cuenta'), 'servicio_no_disponible');
  const metrics = await (await fetch(`${apis[2]!.healthUrl}/metrics`)).text();
  expect(metrics).toMatch(/^padron_api_uncharged_units_total\{process="api"\} 20$/m);
  await around.postgresLine.mend();
  await vi.waitFor(async () => expect(await usedNow()).toBe(1), 30_000);
  // By then PostgreSQL is asked again.
  await sleep(restMs);
  expect((await get(`/id/v1/ruc/${company}`)).status).toBe(200);
  await vi.waitFor(async () => expect(await usedNow()).toBe(2), 30_000);
});

// The last test, because one process is gone after it.
test('a process killed in the middle costs at most its last second, in the customer’s favour', {
  timeout: 600_000,
}, async () => {
  const { at } = await customer(quotaOfKilled);
  const killed = 3;
  const foundAtKilled: number[] = [];
  let found = 0;
  let killedAtMs = Number.POSITIVE_INFINITY;
  const killHalfWay = (answeredBy: number) => {
    found += 1;
    if (answeredBy === killed) foundAtKilled.push(performance.now());
    if (found === quotaOfKilled / 2) {
      killedAtMs = performance.now();
      process.kill(apis[killed]!.pid, 'SIGKILL');
    }
  };
  await askUntilRefused(at, killHalfWay);
  // By then the others read again what is left, which the killed process may have increased: its last charges were lost.
  await sleep(freshMs);
  const count = () => {
    found += 1;
  };
  await askUntilRefused(at.slice(0, killed), count);
  const lastSecond = foundAtKilled.filter((atMs) => atMs > killedAtMs - 1_500).length;
  expect(found).toBeGreaterThanOrEqual(quotaOfKilled);
  expect(found).toBeLessThanOrEqual(quotaOfKilled + lastSecond);
  apis.splice(killed, 1);
});
