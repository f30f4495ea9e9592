import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HistoryEntry, historyAnswer } from '../../../schemas/http/history.ts';
import { taxpayerAnswer } from '../../../schemas/http/taxpayer.ts';
import { checkDigit } from '../../../schemas/ruc.ts';
import { apiSecrets, expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import {
  insertChanges,
  insertEdition,
  insertPublication,
  insertTaxpayers,
  untilCatalogueIsRead,
} from '../../support/registers/served-register.ts';

// Four editions of the daily register, the fourth correcting the third, and two editions of a list.

const company = '20990000019';
const steady = '20990000043';
const person = '10990000013';
const personName = 'ÑAHUIS QUISPE ÁNGEL PLANTADO';
const line = (ruc: string, estado: string, nombre = 'COMERCIAL PRUEBA UNO S.A.C.') =>
  `${ruc}|${nombre}|${estado}|HABIDO|150122|AV.|EJEMPLO|-|-|055|-|-|-|-|-|`;
const listLine = `${company}|COMERCIAL PRUEBA UNO S.A.C.|2026-03-01|RS 1|`;

let around: Surroundings;
let caller: TestCaller;
let withContract: TestCaller;

beforeAll(async () => {
  around = await startSurroundings({ REQUIRED_REGISTERS: 'padron_reducido' });
  caller = await makeCaller(around.pool, around.api.url, { plan: 'micro' });
  const contract = { reference: 'CTD-1', from: '2020-01-01', until: null };
  withContract = await makeCaller(around.pool, around.api.url, { plan: 'micro', contract });
  const { pool, clickhouse } = around;
  const [active, suspended] = [line(company, 'ACTIVO'), line(company, 'SUSPENSION TEMPORAL')];
  await insertTaxpayers(clickhouse, [
    { line: active },
    { line: line(steady, 'ACTIVO', 'ACME S.A.A.') },
    { line: line(person, 'ACTIVO', personName) },
  ]);
  await insertChanges(clickhouse, [
    { edition: 2, before: active, after: suspended },
    { edition: 2, before: line(person, 'ACTIVO', personName), after: line(person, 'BAJA DEFINITIVA', personName) },
    { edition: 3, before: suspended, after: null },
    { edition: 4, before: null, after: suspended, corrects: 3 },
    { register: 'agentes_retencion', edition: 2, before: null, after: listLine },
  ]);
  await insertEdition(pool, { number: 1, fechaDato: '2026-03-02' });
  await insertEdition(pool, { number: 2, fechaDato: '2026-03-04', sha256: 'cd'.repeat(32) });
  await insertPublication(pool, {
    register: 'padron_reducido',
    fechaDato: '2026-03-05',
    publishedAt: '2026-03-05T07:38:00Z',
    sha256: 'cd'.repeat(32),
    state: 'repetida',
  });
  await insertEdition(pool, { number: 3, fechaDato: '2026-03-09', sha256: 'ef'.repeat(32) });
  await insertEdition(pool, { number: 4, fechaDato: '2026-03-09', corrects: 3 });
  await insertEdition(pool, { register: 'agentes_retencion', number: 1, fechaDato: '2026-03-03' });
  await insertEdition(pool, { register: 'agentes_retencion', number: 2, fechaDato: '2026-03-06' });
  await untilCatalogueIsRead();
});
afterAll(() => around.stop());

async function on(day: string, ruc = company) {
  const response = await caller.request(`/id/v1/ruc/${ruc}?fecha=${day}`);
  expect(response.status).toBe(200);
  const { data, meta } = taxpayerAnswer.parse(await response.json());
  const { agentes_retencion } = meta.fecha_padrones;
  return { shown: [meta.fecha_dato, data.estado, agentes_retencion, data.es_agente_retencion], meta, response };
}

test.each([
  ['2026-03-02', '2026-03-02', 'ACTIVO', null, null],
  // A day without an edition has the last one before it.
  ['2026-03-03', '2026-03-02', 'ACTIVO', '2026-03-03', false],
  ['2026-03-04', '2026-03-04', 'SUSPENSIÓN TEMPORAL', '2026-03-03', false],
  // The same bytes again keep the state and have a later date.
  ['2026-03-07', '2026-03-05', 'SUSPENSIÓN TEMPORAL', '2026-03-06', true],
  // The correction takes the date of the wrong edition, which therefore never was in force.
  ['2026-03-09', '2026-03-09', 'SUSPENSIÓN TEMPORAL', '2026-03-06', true],
  ['2026-11-01', '2026-03-09', 'SUSPENSIÓN TEMPORAL', '2026-03-06', true],
])('as of %s', async (day, ...expected) => {
  const { shown, meta, response } = await on(day);
  expect(shown).toEqual(expected);
  expect(meta.fuentes[0]!.fecha_dato).toBe(expected[0]);
  expect(response.headers.get('cache-control')).toBe('private, no-cache');
});

test('an answer as of a day has an ETag of its editions, gives 304, and answers HEAD alike', async () => {
  const { response } = await on('2026-03-07');
  const etag = response.headers.get('etag')!;
  expect(etag).toMatch(/^W\/"2\.2-/);
  const target = `/id/v1/ruc/${company}?fecha=2026-03-07`;
  expect((await caller.request(target, { headers: { 'if-none-match': etag } })).status).toBe(304);
  const head = await caller.request(target, { method: 'HEAD' });
  expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
});

test('days without an answer: before the first edition, in the future, and no real day', async () => {
  const early = await caller.request(`/id/v1/ruc/${company}?fecha=2026-03-01`);
  const problem = await expectProblem(early, 'fecha_sin_datos');
  expect(problem.meta).toEqual({ origen: 'SUNAT - Padrón reducido del RUC', primera_fecha: '2026-03-02' });
  for (const day of ['2099-01-01', '2026-02-30', '26-03-04', '', person])
    await expectProblem(await caller.request(`/id/v1/ruc/${company}?fecha=${day}`), 'fecha_invalida');
});

test('not found as of a day names the edition of that day', async () => {
  const response = await caller.request('/id/v1/ruc/20131312955?fecha=2026-03-07');
  const problem = await expectProblem(response, 'ruc_no_encontrado');
  expect(problem.meta).toMatchObject({ fecha_dato: '2026-03-05' });
});

// A store that lost part of the history must not show today's state as that of the past day.
test('a later row without its change gives 503, never an answer', async () => {
  const lost = '20990000060';
  await insertTaxpayers(around.clickhouse, [{ line: line(lost, 'BAJA DE OFICIO'), version: 3 }]);
  await expectProblem(await caller.request(`/id/v1/ruc/${lost}?fecha=2026-03-04`), 'servicio_no_disponible');
});

async function history(target: string, as = caller) {
  const response = await as.request(target);
  expect(response.status).toBe(200);
  return { ...historyAnswer.parse(await response.json()), headers: response.headers };
}
const short = ({ fecha_dato, registro, operacion, campo, antes, despues }: HistoryEntry) =>
  [fecha_dato, registro, operacion, campo, antes, despues] as const;

test('the history lists all registers newest first and names a correction', async () => {
  const { data, meta, headers } = await history(`/id/v1/ruc/${company}/historial`);
  expect(data.map(short)).toEqual([
    ['2026-03-09', 'padron_reducido', 'alta', 'ruc', null, company],
    ['2026-03-09', 'padron_reducido', 'baja', 'ruc', company, null],
    ['2026-03-06', 'agentes_retencion', 'alta', 'es_agente_retencion', false, true],
    ['2026-03-04', 'padron_reducido', 'cambio', 'estado', 'ACTIVO', 'SUSPENSIÓN TEMPORAL'],
  ]);
  expect(data.map(({ correccion }) => correccion)).toEqual([
    { edicion: 3, fecha_dato: '2026-03-09' },
    null,
    null,
    null,
  ]);
  expect(meta).toMatchObject({ fecha_dato: '2026-03-09', cursor: null });
  expect(meta.fuentes.map(({ registro }) => registro)).toEqual(['padron_reducido', 'agentes_retencion']);
  expect([headers.get('cache-control'), headers.get('vary')]).toEqual([
    'private, no-cache',
    'Authorization, Accept-Encoding',
  ]);
  const again = { headers: { 'if-none-match': headers.get('etag')! } };
  expect((await caller.request(`/id/v1/ruc/${company}/historial`, again)).status).toBe(304);
  expect((await caller.request(`/id/v1/ruc/${company}/historial`, { method: 'HEAD' })).status).toBe(200);
});

test('the pages of the history have the same entries, none twice', async () => {
  const all = (await history(`/id/v1/ruc/${company}/historial`)).data;
  const paged: HistoryEntry[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page = await history(`/id/v1/ruc/${company}/historial?limite=1${more}`);
    paged.push(...page.data);
    cursor = page.meta.cursor;
  }
  expect(paged).toEqual(all);
  for (const bad of ['limite=0', 'limite=201', 'cursor=abc'])
    await expectProblem(await caller.request(`/id/v1/ruc/${company}/historial?${bad}`), 'parametro_invalido');
});

test('a RUC that never changed has an empty history; one that never existed is not found', async () => {
  expect((await history(`/id/v1/ruc/${steady}/historial`)).data).toEqual([]);
  await expectProblem(await caller.request('/id/v1/ruc/20131312955/historial'), 'ruc_no_encontrado');
});

test('the history needs plan micro', async () => {
  const free = await makeCaller(around.pool, around.api.url, { plan: 'free' });
  await expectProblem(await free.request(`/id/v1/ruc/${company}/historial`), 'plan_insuficiente');
});

test("a natural person's past needs a contract, is audited, not cached, and named in `data` alone", async () => {
  const unknown = `1511111111${checkDigit('1511111111')}`;
  const targets = [`/id/v1/ruc/${person}?fecha=2026-03-02`, `/id/v1/ruc/${person}/historial`];
  for (const target of targets) await expectProblem(await caller.request(target), 'contrato_requerido');
  for (const target of targets) {
    const response = await withContract.request(target);
    expect([response.status, response.headers.get('cache-control'), response.headers.get('etag')]).toEqual([
      200,
      'no-store',
      null,
    ]);
    await withContract.request(target, { method: 'HEAD' });
  }
  const missing = await withContract.request(`/id/v1/ruc/${unknown}/historial`);
  expect((await expectProblem(missing, 'ruc_no_encontrado')).detail).not.toContain('11111111');
  const { rows } = await around.pool.query('SELECT ruc_hmac, route FROM natural_person_audit ORDER BY id');
  const hash = (ruc: string) => createHmac('sha256', apiSecrets.AUDIT_HMAC_KEY).update(ruc).digest();
  const [lookUp, past] = ['/id/v1/ruc/:ruc', '/id/v1/ruc/:ruc/historial'];
  expect(rows.map(({ ruc_hmac, route }) => [ruc_hmac, route])).toEqual([
    [hash(person), lookUp],
    [hash(person), lookUp],
    [hash(person), past],
    [hash(person), past],
    [hash(unknown), past],
  ]);
  const output = around.api.output();
  for (const secret of ['PLANTADO', '1099000001']) expect([secret, output.includes(secret)]).toEqual([secret, false]);
});

// A found record, HEAD and 304 cost one each; an empty page and a RUC that is not found cost nothing.
test('what a look-up of the past costs', async () => {
  const counted = await makeCaller(around.pool, around.api.url, { plan: 'micro' });
  const left = async (target: string, options: RequestInit = {}) => {
    const response = await counted.request(target, options);
    await response.arrayBuffer();
    return Number(/"mes";r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')![1]);
  };
  const past = `/id/v1/ruc/${company}/historial`;
  const start = await left('/id/v1/ruc/20131312955/historial');
  const etag = (await counted.request(past)).headers.get('etag')!;
  expect(await left(past, { headers: { 'if-none-match': etag } })).toBe(start - 2);
  expect(await left(past, { method: 'HEAD' })).toBe(start - 3);
  expect(await left(`/id/v1/ruc/${company}?fecha=2026-03-07`)).toBe(start - 4);
  expect(await left(`/id/v1/ruc/${steady}/historial`)).toBe(start - 4);
  expect(await left(`/id/v1/ruc/${company}?fecha=2026-03-01`)).toBe(start - 4);
});

test('a change about a past day is visible at once: a correction, the same bytes again', async () => {
  expect((await on('2026-03-07')).shown).toEqual(['2026-03-05', 'SUSPENSIÓN TEMPORAL', '2026-03-06', true]);
  await insertChanges(around.clickhouse, [
    { register: 'agentes_retencion', edition: 3, before: listLine, after: null, corrects: 2 },
  ]);
  await insertEdition(around.pool, { register: 'agentes_retencion', number: 3, fechaDato: '2026-03-06', corrects: 2 });
  await insertPublication(around.pool, {
    register: 'padron_reducido',
    fechaDato: '2026-03-12',
    publishedAt: '2026-03-12T07:38:00Z',
    sha256: 'ef'.repeat(32),
    state: 'repetida',
  });
  await untilCatalogueIsRead();
  expect((await on('2026-03-07')).shown).toEqual(['2026-03-05', 'SUSPENSIÓN TEMPORAL', '2026-03-06', false]);
  expect((await on('2026-03-20')).shown[0]).toBe('2026-03-12');
});

test('a store that is down gives 503, and works again without a restart', async () => {
  const targets = [`/id/v1/ruc/${company}?fecha=2026-03-02`, `/id/v1/ruc/${company}/historial`];
  await around.clickhouseLine.cut();
  for (const target of targets) await expectProblem(await caller.request(target), 'servicio_no_disponible');
  await around.clickhouseLine.mend();
  for (const target of targets) expect((await caller.request(target)).status).toBe(200);
});
