import { afterAll, beforeAll, expect, test } from 'vitest';
import { confirmDate } from '../../../pipelines/editions/freshness.ts';
import { taxpayerAnswer } from '../../../schemas/http/taxpayer.ts';
import type { RegisterName } from '../../../schemas/registers.ts';
import { expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { monthlyCells } from '../../support/api/taxpayer-records.ts';
import {
  insertEdition,
  insertPublication,
  insertTaxpayers,
  type TestEdition,
  untilCatalogueIsRead,
} from '../../support/registers/served-register.ts';

// The tests depend on each other: registers are loaded one after another, then change, while the same companies are
// looked up.

const agent = '20990000019';
const other = '20990000043';
const onlyListed = '20990000060';
const person = '10990000013';

let around: Surroundings;
let caller: TestCaller;

beforeAll(async () => {
  around = await startSurroundings();
  const contract = { reference: 'CTD-1', from: '2020-01-01', until: null };
  caller = await makeCaller(around.pool, around.api.url, { plan: 'free', contract });
  await insertTaxpayers(around.clickhouse, [
    { line: `${agent}|COMERCIAL PRUEBA UNO S.A.C.|ACTIVO|HABIDO|150122|AV.|EJEMPLO|-|-|055|-|-|-|-|-|` },
    { line: `${other}|ACME PERÚ S.A.A.|ACTIVO|HABIDO|999999|-|-|-|-|-|-|-|-|-|-|` },
    { line: `${person}|PERSONA DE PRUEBA|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|` },
  ]);
  await insertEdition(around.pool, { number: 1, fechaDato: '2026-11-26' });
  await untilCatalogueIsRead();
});
afterAll(() => around.stop());

async function load(register: RegisterName, edition: Omit<TestEdition, 'register'>, lines: readonly string[]) {
  await insertTaxpayers(
    around.clickhouse,
    lines.map((line) => ({ line, register, version: edition.number })),
  );
  await insertEdition(around.pool, { register, ...edition });
  await untilCatalogueIsRead();
}

async function lookUp(ruc: string) {
  const response = await caller.request(`/id/v1/ruc/${ruc}`);
  expect(response.status).toBe(200);
  return { ...taxpayerAnswer.parse(await response.json()), headers: response.headers };
}

async function notReadyBecause(): Promise<string | null> {
  const response = await fetch(`${around.api.healthUrl}/readyz`);
  if (response.status === 200) return null;
  const { reason } = (await response.json()) as { reason: string };
  return reason;
}

test('before the lists are loaded their fields and dates are null, and the process is not ready', async () => {
  const { data, meta } = await lookUp(agent);
  expect(data).toMatchObject({ es_agente_retencion: null, es_buen_contribuyente: null, tipo_contribuyente: null });
  expect(meta.fecha_padrones).toEqual({ agentes_retencion: null, buenos_contribuyentes: null });
  expect(meta.fuentes.map(({ registro }) => registro)).toEqual(['padron_reducido']);
  expect(await notReadyBecause()).toContain('agentes_retencion, buenos_contribuyentes');
});

test('a first edition of a list that is still being written does not count yet', async () => {
  await load('agentes_retencion', { number: 1, fechaDato: '2026-11-20', materialisedAt: null }, [
    `${agent}|COMERCIAL PRUEBA UNO S.A.C.|2023-10-01|RS R.S.186-2023|`,
    `${onlyListed}|NO ESTÁ EN EL PADRÓN|2023-10-01|RS R.S.186-2023|`,
  ]);
  const { data, meta } = await lookUp(agent);
  expect([data.es_agente_retencion, meta.fecha_padrones.agentes_retencion]).toEqual([null, null]);
});

test('a list whose rows the store lost gives 503, never "not listed"; the daily register still answers', async () => {
  await around.pool.query("UPDATE edition SET materializada_at = now() WHERE register = 'agentes_retencion'");
  await load('buenos_contribuyentes', { number: 1, fechaDato: '2026-11-25' }, []);
  for (const ruc of [agent, other])
    await expectProblem(await caller.request(`/id/v1/ruc/${ruc}`), 'servicio_no_disponible');
  await expectProblem(await caller.request('/id/v1/ruc/20131312955'), 'ruc_no_encontrado');
});

test('one record from all registers, each source with its own date', async () => {
  await insertTaxpayers(around.clickhouse, [
    { line: `${other}|ACME PERÚ S.A.A.|2012-06-01|RS 0230050312833|`, register: 'buenos_contribuyentes' },
  ]);
  const cells = monthlyCells({
    tipo: 'SOCIEDAD ANONIMA CERRADA',
    ciiu4_principal: 'VENTA DE PRUEBAS',
    nro_trabajadores: '0',
    tipo_facturacion: 'MANUAL',
    comercio_exterior: 'SIN ACTIVIDAD',
    ubigeo: '130112',
  });
  await load('padron_mensual', { number: 1, fechaDato: '2026-09-01', publishedAt: '2026-11-27T15:00:00Z' }, [
    `${agent}|${cells.join('|')}|`,
    `${person}|${cells.join('|')}|`,
  ]);
  const { data, meta } = await lookUp(agent);
  expect(data).toEqual({
    ruc: agent,
    tipo: '20',
    nombre: 'COMERCIAL PRUEBA UNO S.A.C.',
    estado: 'ACTIVO',
    condicion: 'HABIDO',
    ubigeo: '150122',
    departamento: 'LIMA',
    provincia: 'LIMA',
    distrito: 'MIRAFLORES',
    tipo_contribuyente: 'SOCIEDAD ANONIMA CERRADA',
    sistema_emision: 'MANUAL',
    actividad_economica: 'VENTA DE PRUEBAS',
    comercio_exterior: 'SIN ACTIVIDAD',
    nro_trabajadores: 0,
    direccion: 'AV. EJEMPLO NRO. 055',
    es_agente_retencion: true,
    es_buen_contribuyente: false,
  });
  // Every answer names its publications, their dates and when they were loaded.
  expect(meta).toMatchObject({
    origen: 'SUNAT - Padrón reducido del RUC',
    fecha_dato: '2026-11-26',
    fecha_padrones: { agentes_retencion: '2026-11-20', buenos_contribuyentes: '2026-11-25' },
  });
  expect(meta.fuentes.map(({ registro, fecha_dato }) => [registro, fecha_dato])).toEqual([
    ['padron_reducido', '2026-11-26'],
    ['padron_mensual', '2026-09-01'],
    ['agentes_retencion', '2026-11-20'],
    ['buenos_contribuyentes', '2026-11-25'],
  ]);
  expect(await notReadyBecause()).toBeNull();
});

test('a company that is in no list and not in the monthly register: false and null, with the same dates', async () => {
  const { data, meta } = await lookUp(other);
  expect(data).toMatchObject({
    tipo_contribuyente: null,
    nro_trabajadores: null,
    es_agente_retencion: false,
    es_buen_contribuyente: true,
  });
  expect(meta.fuentes).toHaveLength(4);
});

test('a natural person: the data of the monthly register, and the reason for the missing address', async () => {
  const { data, meta, headers } = await lookUp(person);
  expect(data).toMatchObject({ ubigeo: '130112', distrito: 'ALTO TRUJILLO', direccion: null, nro_trabajadores: 0 });
  expect(meta.direccion_motivo).toBe('no_publicada_persona_natural');
  expect(headers.get('etag')).toBeNull();
});

test('only the daily register says who exists', async () => {
  const problem = await expectProblem(await caller.request(`/id/v1/ruc/${onlyListed}`), 'ruc_no_encontrado');
  expect(problem.meta).toEqual({ origen: 'SUNAT - Padrón reducido del RUC', fecha_dato: '2026-11-26' });
});

test('an unknown ubigeo is kept without names and counted', async () => {
  const { data } = await lookUp(other);
  expect(data).toMatchObject({ ubigeo: '999999', departamento: null, provincia: null, distrito: null });
  const metrics = await (await fetch(`${around.api.healthUrl}/metrics`)).text();
  expect(Number(/^padron_unknown_ubigeo_total\{.*\} (\d+)$/m.exec(metrics)![1])).toBeGreaterThanOrEqual(1);
});

test('a row that a list edition still being written has changed is dated by that edition, other rows are not', async () => {
  await insertEdition(around.pool, {
    register: 'agentes_retencion',
    number: 2,
    fechaDato: '2026-11-28',
    materialisedAt: null,
  });
  await insertTaxpayers(around.clickhouse, [
    { line: `${other}|ACME PERÚ S.A.A.|2026-12-01|RS R.S.200-2026|`, register: 'agentes_retencion', version: 2 },
  ]);
  const changed = await lookUp(other);
  expect(changed.data.es_agente_retencion).toBe(true);
  expect(changed.meta.fecha_padrones.agentes_retencion).toBe('2026-11-28');
  expect(changed.meta.fuentes[2]).toMatchObject({ registro: 'agentes_retencion', cargado_en: null });
  expect((await lookUp(agent)).meta.fecha_padrones.agentes_retencion).toBe('2026-11-20');
});

// Only its absence shows that a company left a list.
test('a company that left a list is no longer on it, and the answer has another ETag', async () => {
  const before = (await lookUp(agent)).headers.get('etag')!;
  expect(before).toMatch(/^W\/"1\.1\.1\.1-/);
  await insertTaxpayers(around.clickhouse, [
    { line: `${agent}|`, register: 'agentes_retencion', version: 2, isDeleted: true },
  ]);
  await around.pool.query("UPDATE edition SET materializada_at = now() WHERE register = 'agentes_retencion'");
  await untilCatalogueIsRead();
  const response = await caller.request(`/id/v1/ruc/${agent}`, { headers: { 'if-none-match': before } });
  expect(response.status).toBe(200);
  expect(response.headers.get('etag')).toMatch(/^W\/"1\.1\.2\.1-/);
  const { data, meta } = taxpayerAnswer.parse(await response.json());
  expect([data.es_agente_retencion, meta.fecha_padrones.agentes_retencion]).toEqual([false, '2026-11-28']);
});

test('a newer publication that is in quarantine, refused or waiting changes no answer', async () => {
  const before = await lookUp(agent);
  for (const state of ['en_cuarentena', 'rechazada', 'comparada'])
    await insertPublication(around.pool, {
      register: 'agentes_retencion',
      fechaDato: '2026-11-29',
      publishedAt: '2026-11-29T07:00:00Z',
      sha256: Buffer.alloc(32, state).toString('hex'),
      state,
    });
  await untilCatalogueIsRead();
  expect((await lookUp(agent)).meta).toEqual(before.meta);
});

test('the same bytes again, or a source that confirms them, change the date and nothing else', async () => {
  await insertPublication(around.pool, {
    register: 'buenos_contribuyentes',
    fechaDato: '2026-11-27',
    publishedAt: '2026-11-27T08:00:00Z',
    state: 'repetida',
  });
  const sha256 = 'ab'.repeat(32);
  await around.pool.query(
    `INSERT INTO register_head (register, edition, fecha_dato, published_at, publication_sha256, partitions)
     VALUES ('agentes_retencion', 2, '2026-11-28', '2026-11-28T07:38:00Z', $1, 1)`,
    [sha256],
  );
  expect(await confirmDate(around.pool, 'agentes_retencion', sha256, '2026-11-30')).toBe(true);
  await untilCatalogueIsRead();
  const { meta } = await lookUp(agent);
  expect(meta.fecha_padrones).toEqual({ agentes_retencion: '2026-11-30', buenos_contribuyentes: '2026-11-27' });
});

test('a correction is an edition without a publication, so its source has no hash', async () => {
  await insertTaxpayers(around.clickhouse, [
    {
      line: `${agent}|COMERCIAL PRUEBA UNO S.A.C.|2023-10-01|RS R.S.186-2023|`,
      register: 'agentes_retencion',
      version: 3,
    },
  ]);
  await insertEdition(around.pool, {
    register: 'agentes_retencion',
    number: 3,
    fechaDato: '2026-11-30',
    publishedAt: '2026-11-28T07:38:00Z',
    corrects: 2,
  });
  await untilCatalogueIsRead();
  const { data, meta } = await lookUp(agent);
  expect(data.es_agente_retencion).toBe(true);
  expect(meta.fuentes[2]).toEqual({
    registro: 'agentes_retencion',
    fecha_dato: '2026-11-30',
    publicado_en: '2026-11-28T02:38:00-05:00',
    cargado_en: '2026-11-30T04:00:00-05:00',
    sha256: null,
  });
});
