import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { type CollectedSpan, type Collector, startCollector } from '../../support/process/collector.ts';
import { insertEdition, insertTaxpayers, untilCatalogueIsRead } from '../../support/registers/served-register.ts';

const companies = ['20990000019', '20990000027', '20990000035', '20990000043', '20990000051', '20990000060'];
const person = '10990000013';
const rest = 'ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|';
const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

let around: Surroundings;
let caller: TestCaller;
let collector: Collector;

beforeAll(async () => {
  collector = await startCollector();
  around = await startSurroundings(collector.environment);
  await load(around);
  caller = await makeCaller(around.pool, around.api.url, {
    contract: { reference: 'CTD-1', from: '2020-01-01', until: null },
  });
});
afterAll(async () => {
  await around.stop();
  await collector.close();
});

async function load({ pool, clickhouse }: Surroundings): Promise<void> {
  const lines = [`${person}|PERSONA PLANTADA|${rest}`, ...companies.map((ruc) => `${ruc}|EMPRESA DE PRUEBA|${rest}`)];
  await insertTaxpayers(
    clickhouse,
    lines.map((line) => ({ line })),
  );
  await insertEdition(pool, { number: 1, fechaDato: '2026-11-26' });
  await untilCatalogueIsRead();
}

const kindServer = 2;
const named = (spans: readonly CollectedSpan[], name: string) => spans.filter((span) => span.name === name);

test("a look-up is a span of the caller's trace with its query below it, and its log line names the trace", async () => {
  const headers = { traceparent, tracestate: 'vendor=20990000019', 'x-request-id': 'pedido-7' };
  expect((await caller.request(`/id/v1/ruc/${companies[0]}?`, { headers })).status).toBe(200);
  const [request] = await collector.find({ 'padron.request_id': 'pedido-7' });
  expect(request).toMatchObject({
    service: 'padron-api',
    name: 'GET /id/v1/ruc/{ruc}',
    kind: kindServer,
    traceId,
    parentSpanId: 'b7ad6b7169203331',
    attributes: {
      'http.request.method': 'GET',
      'http.route': '/id/v1/ruc/{ruc}',
      'http.response.status_code': 200,
      'padron.account': caller.accountId,
    },
    status: { code: 0 },
  });
  const spans = collector.spans().filter((span) => span.traceId === traceId);
  const [lookup] = named(spans, 'look up taxpayers');
  expect(lookup).toMatchObject({ parentSpanId: request!.spanId, attributes: { 'padron.rucs': 1 } });
  expect(named(spans, 'clickhouse.exec')).toMatchObject([
    {
      parentSpanId: lookup!.spanId,
      attributes: {
        'db.system.name': 'clickhouse',
        'clickhouse.request.query_id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    },
  ]);
  const findLine = () =>
    around.api
      .output()
      .split('\n')
      .slice(0, -1)
      .find((each) => each.includes('pedido-7'));
  await expect.poll(findLine).toBeDefined();
  expect(JSON.parse(findLine()!)).toMatchObject({ msg: 'request', trace_id: traceId });
});

test('look-ups at the same time share a query, which has one as its parent and links to the others', async () => {
  const before = collector.spans().length;
  await Promise.all(
    Array.from({ length: 60 }, (_, index) => caller.request(`/id/v1/ruc/${companies[index % companies.length]}`)),
  );
  const all = async () => collector.spans().slice(before);
  await expect
    .poll(async () => named(await all(), 'GET /id/v1/ruc/{ruc}').length, { timeout: 15_000, interval: 200 })
    .toBe(60);
  const spans = await all();
  const queries = named(spans, 'look up taxpayers');
  expect(queries.length).toBeLessThan(60);
  const rucs = queries.map((span) => Number(span.attributes['padron.rucs']));
  expect(rucs.reduce((sum, each) => sum + each, 0)).toBe(60);
  const ofQueries = new Set(queries.map(({ spanId }) => spanId));
  for (const request of named(spans, 'GET /id/v1/ruc/{ruc}')) {
    const isParent = queries.some(({ parentSpanId }) => parentSpanId === request.spanId);
    const linked = request.links.filter(({ spanId }) => ofQueries.has(spanId));
    expect(Number(isParent) + linked.length).toBe(1);
    if (!isParent)
      expect(queries.find(({ spanId }) => spanId === linked[0]!.spanId)!.links).toContainEqual(
        expect.objectContaining({ spanId: request.spanId }),
      );
  }
});

test('a failed request has its code; an unknown path is not shown', async () => {
  await caller.request(`/id/v1/nada/${person}`, { headers: { 'x-request-id': 'sin-ruta' } });
  const [missing] = await collector.find({ 'padron.request_id': 'sin-ruta' });
  expect(missing).toMatchObject({ name: 'GET', attributes: { 'http.response.status_code': 404 }, status: { code: 0 } });
  expect(missing!.attributes['http.route']).toBeUndefined();

  await around.clickhouseLine.cut();
  const answer = await caller.request(`/id/v1/ruc/${companies[0]}`, { headers: { 'x-request-id': 'sin-almacen' } });
  await around.clickhouseLine.mend();
  expect(answer.status).toBe(503);
  const [failed] = await collector.find({ 'padron.request_id': 'sin-almacen' });
  expect(failed).toMatchObject({
    status: { code: 2 },
    attributes: { 'http.response.status_code': 503, 'error.type': 'servicio_no_disponible' },
  });
});

test('no span contains anything of requests and answers', async () => {
  const query = `q=${encodeURIComponent('EMPRESA PRUEBA')}`;
  expect((await caller.request(`/id/v1/ruc/${person}`)).status).toBe(200);
  await caller.request(`/id/v1/ruc/buscar?${query}`);
  await caller.request('/id/v1/ruc/lote', { method: 'POST', json: { rucs: [companies[1], person] } });
  await caller.request(`/id/v1/ruc/${person}/historial`, { headers: { 'x-request-id': `pedido de ${person}` } });
  await collector.find({ 'http.route': '/id/v1/ruc/{ruc}/historial' });
  const text = collector.text();
  for (const secret of [person, ...companies, 'PLANTADA', 'PERSONA', 'EMPRESA', 'PRUEBA', caller.token, 'SELECT'])
    expect(text).not.toContain(secret);
});

test.each(['hangs', 'refuses'] as const)('a collector that %s changes no answer and delays no stop', async (how) => {
  const bad = await startCollector(how);
  const { api, ...others } = await startSurroundings(bad.environment);
  await load({ api, ...others });
  const { request } = await makeCaller(others.pool, api.url);
  const statuses = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const began = performance.now();
      const { status } = await request(`/id/v1/ruc/${companies[index % companies.length]}`);
      return { status, isQuick: performance.now() - began < 8_000 };
    }),
  );
  expect(new Set(statuses.map((each) => JSON.stringify(each)))).toEqual(new Set(['{"status":200,"isQuick":true}']));
  const began = performance.now();
  await api.stop();
  expect(performance.now() - began).toBeLessThan(8_000);
  await others.stop();
  await bad.close();
  expect(bad.requests.length).toBeGreaterThan(0);
});
