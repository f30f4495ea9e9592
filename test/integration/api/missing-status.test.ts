import { afterAll, beforeAll, expect, test } from 'vitest';
import { batchAnswer } from '../../../schemas/http/batch.ts';
import { historyAnswer } from '../../../schemas/http/history.ts';
import { membersAnswer } from '../../../schemas/http/lists.ts';
import { searchAnswer } from '../../../schemas/http/search.ts';
import { supplierAnswer } from '../../../schemas/http/supplier.ts';
import { taxpayerAnswer } from '../../../schemas/http/taxpayer.ts';
import { limaDay } from '../../../schemas/lima-time.ts';
import { makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { changeOf, materialize, rucOf } from '../../support/registers/companies.ts';
import { insertEdition, untilCatalogueIsRead } from '../../support/registers/served-register.ts';

// A company whose `estado` and `condicion` the register writes as a dash, in every answer that shows them.

const dashed = { ruc: rucOf(1), nombre: 'TALLERES SIN DATO S.A.C.', estado: '-', condicion: '--' };
/** Its condicion is filled by the second edition. */
const filled = { ruc: rucOf(2), nombre: 'TALLERES CON DATO S.A.C.', condicion: '-' };
const plain = { ruc: rucOf(3), nombre: 'TALLERES DE SIEMPRE S.A.C.' };
/** Recent days, because a supplier check warns of old data. */
const [first, second] = [2, 1].map((days) => limaDay(new Date(Date.now() - days * 86_400_000))) as [string, string];
const nothing = { estado: null, condicion: null };

let around: Surroundings;
let caller: TestCaller;

beforeAll(async () => {
  around = await startSurroundings({ SUPPLIER_REQUIRED_REGISTERS: 'padron_reducido' });
  const { pool, clickhouse, api } = around;
  await materialize(
    clickhouse,
    [dashed, filled, plain].map((company) => changeOf(1, null, company)),
  );
  await materialize(clickhouse, [
    changeOf(2, filled, { ...filled, condicion: 'HABIDO' }),
    // Another mark for nothing is no change of the value.
    changeOf(2, dashed, { ...dashed, estado: '--', condicion: '' }),
  ]);
  await insertEdition(pool, { number: 1, fechaDato: first });
  await insertEdition(pool, { number: 2, fechaDato: second, sha256: 'ef'.repeat(32) });
  await untilCatalogueIsRead();
  caller = await makeCaller(pool, api.url, { plan: 'crecimiento' });
});
afterAll(() => around?.stop());

async function get(target: string): Promise<unknown> {
  const response = await caller.request(`/id/v1/${target}`);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return JSON.parse(text);
}

async function post(target: string, body: unknown): Promise<unknown> {
  const response = await caller.request(`/id/v1/${target}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect(response.status, text).toBeLessThan(300);
  return JSON.parse(text);
}

test('look-up, look-up of a past day and batch show null', async () => {
  expect(taxpayerAnswer.parse(await get(`ruc/${dashed.ruc}`)).data).toMatchObject(nothing);
  const onDay = taxpayerAnswer.parse(await get(`ruc/${filled.ruc}?fecha=${first}`)).data;
  expect(onDay).toMatchObject({ estado: 'ACTIVO', condicion: null });
  const { data } = batchAnswer.parse(await post('ruc/batch', { rucs: [dashed.ruc, filled.ruc] }));
  expect(data).toMatchObject([{ data: nothing }, { data: { estado: 'ACTIVO', condicion: 'HABIDO' } }]);
});

test('a search shows null, and no filter finds a missing value', async () => {
  const found = async (query: string) => searchAnswer.parse(await get(`ruc/buscar?q=talleres${query}`)).data;
  expect((await found('')).find(({ ruc }) => ruc === dashed.ruc)).toMatchObject(nothing);
  expect(await found('&estado=-')).toEqual([]);
  expect(await found('&condicion=--')).toEqual([]);
  expect(await found('&condicion=-&estado=ACTIVO')).toEqual([]);
  expect((await found('&estado=activo')).map(({ ruc }) => ruc).sort()).toEqual([filled.ruc, plain.ruc].sort());
});

test('a supplier check never calls a company clean whose status the register does not carry', async () => {
  const { data } = supplierAnswer.parse(await get(`proveedor/${dashed.ruc}`));
  expect(data).toMatchObject({ resultado: 'no_determinado', registro: nothing });
  const other = supplierAnswer.parse(await get(`proveedor/${plain.ruc}`)).data;
  expect(other.resultado).toBe('sin_observaciones');
});

test('a list shows null for it', async () => {
  const { data: list } = (await post('watch/listas', { nombre: 'Talleres' })) as { data: { id: number } };
  await post(`watch/listas/${list.id}/rucs`, { rucs: [dashed.ruc, plain.ruc] });
  const { data } = membersAnswer.parse(await get(`watch/listas/${list.id}/rucs`));
  expect(data).toMatchObject([
    { ruc: dashed.ruc, ...nothing },
    { ruc: plain.ruc, estado: 'ACTIVO', condicion: 'HABIDO' },
  ]);
});

test('a history has a change from nothing, and none from a dash to nothing', async () => {
  expect(historyAnswer.parse(await get(`ruc/${filled.ruc}/historial`)).data).toMatchObject([
    { operacion: 'cambio', campo: 'condicion', antes: null, despues: 'HABIDO' },
  ]);
  expect(historyAnswer.parse(await get(`ruc/${dashed.ruc}/historial`)).data).toEqual([]);
});
