import { afterAll, beforeAll, expect, test } from 'vitest';
import { searchAnswer } from '../../../schemas/http/search.ts';
import { taxpayerAnswer } from '../../../schemas/http/taxpayer.ts';
import { makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { monthlyCells } from '../../support/api/taxpayer-records.ts';
import { changeOf, materialize, rucOf, type TestCompany } from '../../support/registers/companies.ts';
import { insertEdition, insertTaxpayers, untilCatalogueIsRead } from '../../support/registers/served-register.ts';

// Companies whose daily ubigeo is empty have the monthly register's, in a search as in a look-up. The tests depend on
// each other: the monthly register is loaded between them.

const placed = { ruc: rucOf(1), nombre: 'KOLPA AREQUIPA S.A.C.', ubigeo: '040101' };
const monthly = { ruc: rucOf(2), nombre: 'KOLPA MENSUAL S.A.C.', ubigeo: '-' };
const elsewhere = { ruc: rucOf(3), nombre: 'KOLPA LIMA S.A.C.', ubigeo: '' };
const nowhere = { ruc: rucOf(4), nombre: 'KOLPA NADA S.A.C.', ubigeo: '----' };
/** The daily code wins over the monthly one, also when the catalogue does not know it. */
const unknown = { ruc: rucOf(5), nombre: 'KOLPA OTRA S.A.C.', ubigeo: '049999' };
/** Short names without a place come before the long ones that have it. */
const crowd: TestCompany[] = Array.from({ length: 300 }, (_, index) => ({
  ruc: rucOf(1_000 + index),
  nombre: `MADERERA ${index} S.A.C.`,
  ubigeo: '-',
}));
const farBack: TestCompany[] = Array.from({ length: 30 }, (_, index) => ({
  ruc: rucOf(2_000 + index),
  nombre: `MADERERA DE NOMBRE MUY LARGO ${index} S.A.C.`,
  ubigeo: '040101',
}));
const mistyped = { ruc: rucOf(3_000), nombre: 'CARPINTERIA S.A.C.', ubigeo: '040101' };
const unplaced: TestCompany[] = Array.from({ length: 20 }, (_, index) => ({
  ruc: rucOf(3_001 + index),
  nombre: `CARPINTERIO ${index} S.A.C.`,
  ubigeo: '-',
}));

let around: Surroundings;
let caller: TestCaller;

beforeAll(async () => {
  around = await startSurroundings();
  const all = [placed, monthly, elsewhere, nowhere, unknown, ...crowd, ...farBack, mistyped, ...unplaced];
  await materialize(
    around.clickhouse,
    all.map((company) => changeOf(1, null, company)),
  );
  const codes = [
    [monthly.ruc, '040101'],
    [elsewhere.ruc, '150101'],
    [nowhere.ruc, 'NO DISPONIBLE'],
    [unknown.ruc, '150101'],
    ...crowd.map(({ ruc }) => [ruc, '150101'] as const),
  ] as const;
  await insertTaxpayers(
    around.clickhouse,
    codes.map(([ruc, ubigeo]) => ({
      line: `${ruc}|${monthlyCells({ ubigeo }).join('|')}|`,
      register: 'padron_mensual',
    })),
  );
  await insertEdition(around.pool, { number: 1, fechaDato: '2026-11-26' });
  await untilCatalogueIsRead();
  caller = await makeCaller(around.pool, around.api.url, { plan: 'micro' });
});
afterAll(() => around?.stop());

const pathOf = (parameters: Record<string, string>) => `/id/v1/ruc/buscar?${new URLSearchParams(parameters)}`;

async function search(parameters: Record<string, string>) {
  const response = await caller.request(pathOf(parameters));
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return { ...searchAnswer.parse(JSON.parse(text)), headers: response.headers };
}
const rucs = async (parameters: Record<string, string>) =>
  (await search({ limite: '50', ...parameters })).data.map(({ ruc }) => ruc).sort();

const placeOf = ({ ubigeo, departamento, provincia, distrito }: Record<string, unknown>) => [
  ubigeo,
  departamento,
  provincia,
  distrito,
];

test('while the monthly register is not complete, its codes count in neither answer', async () => {
  const { data } = await search({ q: monthly.ruc });
  expect(placeOf(data[0]!)).toEqual([null, null, null, null]);
  expect(await rucs({ q: 'kolpa', ubigeo: '0401' })).toEqual([placed.ruc]);
});

test('then a search has the place of the look-up, and the filter compares it', async () => {
  const { headers } = await search({ q: monthly.ruc });
  const tag = headers.get('etag')!;
  await insertEdition(around.pool, {
    register: 'padron_mensual',
    number: 1,
    fechaDato: '2026-11-01',
    publishedAt: '2026-11-27T15:00:00Z',
  });
  await untilCatalogueIsRead();
  const { data } = await search({ q: 'kolpa', limite: '50' });
  expect(data).toHaveLength(5);
  for (const hit of data) {
    const answer = await caller.request(`/id/v1/ruc/${hit.ruc}`);
    expect(placeOf(hit), hit.nombre).toEqual(placeOf(taxpayerAnswer.parse(await answer.json()).data));
  }
  expect(placeOf(data.find(({ ruc }) => ruc === monthly.ruc)!)).toEqual(['040101', 'AREQUIPA', 'AREQUIPA', 'AREQUIPA']);
  for (const ubigeo of ['0401', '040101'])
    expect(await rucs({ q: 'kolpa', ubigeo })).toEqual([placed.ruc, monthly.ruc].sort());
  expect(await rucs({ q: 'kolpa', ubigeo: '04' })).toEqual([placed.ruc, monthly.ruc, unknown.ruc].sort());
  expect(await rucs({ q: 'kolpa', ubigeo: '15' })).toEqual([elsewhere.ruc]);
  expect(await rucs({ q: monthly.ruc, ubigeo: '0401' })).toEqual([monthly.ruc]);
  expect(await rucs({ q: monthly.ruc, ubigeo: '15' })).toEqual([]);
  // The answer has changed with the monthly register alone, so a caller who has the earlier one gets the new one.
  const again = await caller.request(pathOf({ q: monthly.ruc }), { headers: { 'if-none-match': tag } });
  expect(again.status).toBe(200);
});

test('a page is whole although hundreds of names without a daily code come before its hits', async () => {
  const pages: string[][] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const given: Record<string, string> = cursor === '' ? {} : { cursor };
    const page = await search({ q: 'maderera', ubigeo: '0401', limite: '20', ...given });
    pages.push(page.data.map(({ ruc }) => ruc));
    ({ cursor } = page.meta);
  }
  expect(pages.map((page) => page.length)).toEqual([20, 10]);
  expect(pages.flat().sort()).toEqual(farBack.map(({ ruc }) => ruc).sort());
  expect(await search({ q: 'maderera', ubigeo: '0402' })).toMatchObject({ data: [], meta: { cursor: null } });
});

test('names without a place do not stand in for the approximate ones', async () => {
  expect(await rucs({ q: 'carpinterio', ubigeo: '0401', limite: '20' })).toEqual([mistyped.ruc]);
});
