import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readUse } from '../../../api/metering/ledger.ts';
import { monthOf } from '../../../api/metering/minute-limits.ts';
import { supplierAnswer } from '../../../schemas/http/supplier.ts';
import { limaDay } from '../../../schemas/lima-time.ts';
import type { RegisterName } from '../../../schemas/registers.ts';
import { expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import {
  insertChanges,
  insertEdition,
  insertTaxpayers,
  untilCatalogueIsRead,
} from '../../support/registers/served-register.ts';

// The tests depend on each other: registers are loaded one after another while the same companies are checked.

const clean = '20990000019';
const barred = '20990000043';
const person = '10990000013';
const dayMs = 86_400_000;
const daysAgo = (days: number) => limaDay(new Date(Date.now() - days * dayMs));
const today = daysAgo(0);

let around: Surroundings;
let caller: TestCaller;

beforeAll(async () => {
  around = await startSurroundings();
  caller = await makeCaller(around.pool, around.api.url, { plan: 'crecimiento' });
  await insertTaxpayers(around.clickhouse, [
    { line: `${clean}|COMERCIAL PRUEBA UNO S.A.C.|ACTIVO|HABIDO|150122|-|-|-|-|-|-|-|-|-|-|` },
    { line: `${person}|PERSONA PLANTADA|ACTIVO|HABIDO|-|-|-|-|-|-|-|-|-|-|-|` },
    { line: `${clean}|X|2023-10-01|R.S. 1|`, register: 'agentes_retencion' },
    { line: `${barred}|X|2012-06-01|R.S. 2|`, register: 'buenos_contribuyentes' },
    { line: `${clean}|ACTIVO|HABIDO|SOCIEDAD ANONIMA|`, register: 'padron_mensual' },
  ]);
  const row = (estado: string) => `${barred}|ACME PERÚ S.A.A.|${estado}|HABIDO|150131|-|-|-|-|-|-|-|-|-|-|`;
  await insertEdition(around.pool, { number: 1, fechaDato: daysAgo(60) });
  await insertEdition(around.pool, { number: 2, fechaDato: daysAgo(1) });
  await insertChanges(around.clickhouse, [{ before: row('ACTIVO'), after: row('SUSPENSION TEMPORAL'), edition: 2 }]);
  for (const register of ['agentes_retencion', 'buenos_contribuyentes', 'padron_mensual'] as const)
    await insertEdition(around.pool, { register, number: 1, fechaDato: daysAgo(10) });
  await untilCatalogueIsRead();
});
afterAll(() => around.stop());

async function check(ruc: string, query = '', by = caller) {
  const response = await by.request(`/id/v1/proveedor/${ruc}${query}`);
  expect(response.status).toBe(200);
  expect([response.headers.get('cache-control'), response.headers.get('etag')]).toEqual(['no-store', null]);
  const text = await response.text();
  return { ...supplierAnswer.parse(JSON.parse(text)), text };
}

async function loadBars(register: RegisterName, rows: Record<string, object[]>): Promise<void> {
  await insertTaxpayers(
    around.clickhouse,
    Object.entries(rows).map(([ruc, sanctions]) => ({ line: `${ruc}|ruc|${JSON.stringify(sanctions)}|`, register })),
  );
  await insertEdition(around.pool, { register, number: 1, fechaDato: daysAgo(5) });
  await untilCatalogueIsRead();
}

const sanction = {
  nombre: 'ACME PERÚ S.A.A.',
  resolucion: '0001-2026-TCE-S1',
  motivos: ['214'],
  motivo: 'TEXTO DE PRUEBA',
};

// A source that was never loaded says neither yes nor no.
test('a required source that was never loaded makes the result undetermined, and each missing one is named', async () => {
  const { data, meta } = await check(clean);
  expect(data).toMatchObject({
    resultado: 'no_determinado',
    registro: { ruc: clean, tipo_contribuyente: 'SOCIEDAD ANONIMA', es_agente_retencion: true },
    agente_retencion: { figura: true, desde: '2023-10-01', resolucion: 'R.S. 1', fecha_padron: daysAgo(10) },
    buen_contribuyente: { figura: false, desde: null, resolucion: null, fecha_padron: daysAgo(10) },
    contrataciones_estado: { resultado: 'no_determinado', evaluado_al: today, sanciones: [], fuentes: [] },
    vigilado: { activo: false, listas: [] },
  });
  expect(data.advertencias.map(({ codigo }) => codigo)).toEqual(Array(3).fill('fuente_no_cargada'));
  expect(meta).toMatchObject({ origen: 'SUNAT - Padrón reducido del RUC', fecha_dato: daysAgo(1) });
  expect(meta.fuentes).toHaveLength(4);
});

test('a register of bars whose rows the store lost gives 503, never "not listed"', async () => {
  await insertEdition(around.pool, { register: 'sancionados', number: 1, fechaDato: daysAgo(5), materialisedAt: null });
  await around.pool.query("UPDATE edition SET materializada_at = now() WHERE register = 'sancionados'");
  await untilCatalogueIsRead();
  await expectProblem(await caller.request(`/id/v1/proveedor/${clean}`), 'servicio_no_disponible');
  for (const table of ['edition', 'publication'])
    await around.pool.query(`DELETE FROM ${table} WHERE register = 'sancionados'`);
});

test('with all sources: a clean supplier, and one that is barred, suspended and changed yesterday', async () => {
  await loadBars('sancionados', {
    [barred]: [
      { ...sanction, desde: daysAgo(100), hasta: daysAgo(-100) },
      { ...sanction, desde: '2020-01-01', hasta: '2020-12-31', resolucion: '0002-2020-TCE-S1' },
    ],
  });
  await loadBars('inhabilitaciones_judiciales', {
    [barred]: [
      { nombre: 'X', desde: '2019-01-01', hasta: '2019-02-01', resolucion: 'J-1', organo: 'JUZGADO DE PRUEBA' },
    ],
  });
  await loadBars('inhabilitaciones_administrativas', {
    '99000000001': [{ ...sanction, desde: '2020-01-01', hasta: null }],
  });
  const good = await check(clean);
  expect(good.data).toMatchObject({ resultado: 'sin_observaciones', advertencias: [] });
  expect(good.data.contrataciones_estado).toMatchObject({ resultado: 'no_figura', evaluado_al: today });
  expect(good.data.contrataciones_estado.fuentes.map(({ registro, fecha_dato }) => [registro, fecha_dato])).toEqual([
    ['sancionados', daysAgo(5)],
    ['inhabilitaciones_judiciales', daysAgo(5)],
    ['inhabilitaciones_administrativas', daysAgo(5)],
  ]);
  const { data } = await check(barred);
  expect(data).toMatchObject({
    resultado: 'con_observaciones',
    buen_contribuyente: { figura: true, desde: '2012-06-01' },
  });
  expect(data.contrataciones_estado.resultado).toBe('inhabilitado');
  expect(data.contrataciones_estado.sanciones.map(({ vigente, fuente }) => [vigente, fuente])).toEqual([
    [true, 'sancionados'],
    [false, 'sancionados'],
    [false, 'inhabilitaciones_judiciales'],
  ]);
  expect(data.advertencias).toEqual([
    { codigo: 'suspension_temporal', severidad: 'atencion', mensaje: expect.stringContaining('«SUSPENSIÓN TEMPORAL»') },
    { codigo: 'inhabilitado_vigente', severidad: 'grave', mensaje: expect.stringContaining('0001-2026-TCE-S1') },
    {
      codigo: 'cambio_reciente',
      severidad: 'atencion',
      mensaje: expect.stringContaining('antes «ACTIVO», ahora «SUSPENSIÓN TEMPORAL»'),
    },
  ]);
});

test('bars as of a day that the caller gives', async () => {
  const { data } = await check(barred, '?inhabilitado_al=2020-12-31');
  expect(data.contrataciones_estado).toMatchObject({ resultado: 'inhabilitado', evaluado_al: '2020-12-31' });
  expect(data.advertencias.map(({ codigo }) => codigo)).toContain('inhabilitado_en_fecha');
  const next = await check(barred, '?inhabilitado_al=2021-01-01');
  expect(next.data.contrataciones_estado.resultado).toBe('sin_sancion_vigente');
  for (const bad of ['2026-02-30', 'ayer', ''])
    await expectProblem(await caller.request(`/id/v1/proveedor/${clean}?inhabilitado_al=${bad}`), 'fecha_invalida');
});

test('shows the lists of the own account that hold the supplier', async () => {
  const created = await caller.request('/id/v1/watch/listas', {
    method: 'POST',
    json: { nombre: 'Proveedores', referencia: 'R-9' },
  });
  const { data: list } = (await created.json()) as { data: { id: number } };
  await caller.request(`/id/v1/watch/listas/${list.id}/rucs`, { method: 'POST', json: { ruc: clean } });
  const watched = await check(clean);
  expect(watched.data.vigilado).toEqual({
    activo: true,
    listas: [{ id: list.id, nombre: 'Proveedores', referencia: 'R-9' }],
  });
  const stranger = await makeCaller(around.pool, around.api.url, { plan: 'free' });
  expect((await check(clean, '', stranger)).data.vigilado).toEqual({ activo: false, listas: [] });
});

test('the evidence is the same bytes later, free, for the same account only', async () => {
  const by = await makeCaller(around.pool, around.api.url, { plan: 'free' });
  const { text, meta } = await check(barred, '', by);
  expect(meta.fuentes.every(({ sha256 }) => sha256 !== null)).toBe(true);
  await insertEdition(around.pool, { number: 3, fechaDato: today });
  await untilCatalogueIsRead();
  const path = `/id/v1/proveedor/consultas/${meta.consulta_id}`;
  const again = await by.request(path);
  expect([again.status, await again.text(), again.headers.get('cache-control')]).toEqual([200, text, 'no-store']);
  await expectProblem(await caller.request(path), 'recurso_no_encontrado');
  const inCapitals = `/id/v1/proveedor/consultas/${meta.consulta_id.toUpperCase()}`;
  expect((await by.request(inCapitals)).status).toBe(200);
  for (const id of ['00000000-0000-4000-8000-000000000000', '1', `${meta.consulta_id}0`])
    await expectProblem(await by.request(`/id/v1/proveedor/consultas/${id}`), 'recurso_no_encontrado');
  await sleep(1_300);
  expect(await readUse(around.pool, by.accountId, monthOf(Date.now()).firstDay)).toMatchObject({ used: 1 });
  const { rows } = await around.pool.query(
    `SELECT kept_until::date - created_at::date AS days FROM supplier_check WHERE id = $1`,
    [meta.consulta_id],
  );
  expect(rows[0].days).toBeGreaterThanOrEqual(5 * 365);
});

test('natural persons: 403 without contract, 422 with it; not found is 404 and free; HEAD is 405', async () => {
  await expectProblem(await caller.request(`/id/v1/proveedor/${person}`), 'contrato_requerido');
  const contract = { reference: 'CTD-1', from: '2020-01-01', until: null };
  const by = await makeCaller(around.pool, around.api.url, { contract });
  await expectProblem(await by.request(`/id/v1/proveedor/${person}`), 'solo_empresas');
  await expectProblem(await by.request('/id/v1/proveedor/2099'), 'ruc_formato');
  const problem = await expectProblem(await by.request('/id/v1/proveedor/20131312955'), 'ruc_no_encontrado');
  expect(problem.encontrado).toBe(false);
  await expectProblem(await by.request(`/id/v1/proveedor/${clean}?x=1`), 'parametro_desconocido');
  const head = await by.request(`/id/v1/proveedor/${clean}`, { method: 'HEAD' });
  expect([head.status, head.headers.get('allow')]).toEqual([405, 'GET']);
  const kept = await around.pool.query('SELECT 1 FROM supplier_check WHERE account_id = $1', [by.accountId]);
  expect(kept.rowCount).toBe(0);
  await sleep(1_300);
  expect(await readUse(around.pool, by.accountId, monthOf(Date.now()).firstDay)).toMatchObject({ used: 0 });
});

test('ClickHouse or PostgreSQL down: 503, no answer without its evidence, nothing charged; back by itself', async () => {
  const path = `/id/v1/proveedor/${clean}`;
  for (const line of [around.clickhouseLine, around.postgresLine]) {
    await check(clean);
    await line.cut();
    await expectProblem(await caller.request(path), 'servicio_no_disponible');
    await line.mend();
    expect((await caller.request(path)).status).toBe(200);
  }
});
