import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readUse } from '../../../api/metering/ledger.ts';
import { monthOf } from '../../../api/metering/minute-limits.ts';
import { type Operation, operations } from '../../../api/operations.ts';
import { maxHits } from '../../../api/routes/search.ts';
import { searchAnswer } from '../../../schemas/http/search.ts';
import { expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { changeOf, materialize, rucOf, type TestCompany } from '../../support/registers/companies.ts';
import { insertEdition, untilCatalogueIsRead } from '../../support/registers/served-register.ts';

// Many companies share one word: more than a query returns, and enough to hide a company that is searched by its name.

const ceased = { estado: 'BAJA DE OFICIO' };
const crowd: TestCompany[] = Array.from({ length: maxHits + 250 }, (_, number) => ({
  ruc: rucOf(1_000 + number),
  nombre: `MADERERA ${word(number)} ${number % 7 === 0 ? 'S.R.L.' : 'S.A.C.'}`,
  ...(number % 5 === 0 ? ceased : {}),
}));
const small = { ruc: rucOf(10), nombre: 'MADERERA S.A.C.', ubigeo: '250105' };
const smallCeased = { ruc: rucOf(11), nombre: 'MADERERA SAC', ...ceased };
const spaced = { ruc: rucOf(12), nombre: 'MADERERA  LOS   ALTOS S.A.' };
const abbreviated = { ruc: rucOf(13), nombre: 'CORP. MADERERA INV. Y SERV. S.A.' };
const person = { ruc: rucOf(14, '10'), nombre: 'MADERERA QUISPE JUAN' };

let around: Surroundings;

beforeAll(async () => {
  around = await startSurroundings({ REQUIRED_REGISTERS: 'padron_reducido' });
  const companies = [...crowd, small, smallCeased, spaced, abbreviated, person];
  await materialize(
    around.clickhouse,
    companies.map((company) => changeOf(1, null, company)),
  );
  await insertEdition(around.pool, { number: 1, fechaDato: '2026-11-26' });
  await untilCatalogueIsRead();
});
afterAll(() => around?.stop());

/** A word for each number. It has no digits, since those are searched differently. */
function word(number: number): string {
  const letters = 'BCDFGHJKLM';
  return `ZU${[...String(number)].map((digit) => `${letters[Number(digit)]}A`).join('')}`;
}

const newCaller = () => makeCaller(around.pool, around.api.url, { plan: 'micro' });
const targetOf = (parameters: Record<string, string>) => `/id/v1/ruc/buscar?${new URLSearchParams(parameters)}`;

async function search(by: TestCaller, parameters: Record<string, string>) {
  const response = await by.request(targetOf(parameters));
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return searchAnswer.parse(JSON.parse(text));
}

async function pagesOf(by: TestCaller, parameters: Record<string, string>): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { data, meta } = await search(by, cursor === '' ? parameters : { ...parameters, cursor });
    pages.push(data.map(({ ruc }) => ruc));
    ({ cursor } = meta);
    expect(pages.length).toBeLessThanOrEqual(maxHits);
  }
  return pages;
}

/** The use in PostgreSQL after the process has reported it, within a second. */
async function expectUsed({ accountId }: TestCaller, units: number): Promise<void> {
  const used = async () => (await readUse(around.pool, accountId, monthOf(Date.now()).firstDay))?.used;
  await expect.poll(used, { timeout: 5_000 }).toBe(units);
  // No more use is reported later.
  await sleep(1_300);
  expect(await used()).toBe(units);
}

describe('a query with more hits than are returned', () => {
  test('exactly 1,000 hits, none twice, no cursor at the end, one unit a page, and the same list for any page size', async () => {
    const lists: string[][] = [];
    for (const limite of [50, 13]) {
      const by = await newCaller();
      const pages = await pagesOf(by, { q: 'maderera', limite: String(limite) });
      expect(pages.slice(0, -1).every((page) => page.length === limite)).toBe(true);
      const rucs = pages.flat();
      expect([rucs.length, new Set(rucs).size]).toEqual([1_000, 1_000]);
      await expectUsed(by, Math.ceil(1_000 / limite));
      lists.push(rucs);
    }
    expect(lists[1]).toEqual(lists[0]);
  });

  test('no forged cursor goes past the last hit: neither with another count nor in an earlier format', async () => {
    const by = await newCaller();
    const { meta } = await search(by, { q: 'maderera', limite: '50' });
    const [kind, key] = Buffer.from(meta.cursor!, 'base64url').toString().split(':') as [string, string];
    const [edition, given, ...rest] = key.split('.');
    expect([kind, given]).toEqual(['buscar', '50']);
    for (const forged of [
      [edition, '1', ...rest],
      [edition, given, ...rest.slice(0, -1), '0123456789abcdef'],
    ]) {
      const cursor = Buffer.from(`buscar:${forged.join('.')}`).toString('base64url');
      const response = await by.request(targetOf({ q: 'maderera', limite: '50', cursor }));
      const problem = await expectProblem(response, 'parametro_invalido');
      expect(problem.errors).toMatchObject([{ campo: 'cursor' }]);
    }
  });

  test('a narrower query reaches hits that the wider one left out', async () => {
    const by = await newCaller();
    const given = new Set((await pagesOf(by, { q: 'maderera', limite: '50' })).flat());
    const left = crowd.find(({ ruc, estado }) => !given.has(ruc) && estado !== undefined)!;
    expect((await search(by, { q: left.nombre })).data[0]!.ruc).toBe(left.ruc);
    const narrower = (await pagesOf(by, { q: 'maderera', estado: 'BAJA DE OFICIO', limite: '50' })).flat();
    const expected = [...crowd, smallCeased].filter(({ estado }) => estado !== undefined).map(({ ruc }) => ruc);
    expect(narrower.toSorted()).toEqual(expected.toSorted());
  });
});

describe('what a page costs', () => {
  test('a page with content costs one unit, also as HEAD and 304; an empty or refused one costs nothing', async () => {
    const by = await newCaller();
    const target = targetOf({ q: 'maderera' });
    const first = await by.request(target);
    await first.arrayBuffer();
    expect((await by.request(target, { method: 'HEAD' })).status).toBe(200);
    const again = await by.request(target, { headers: { 'if-none-match': first.headers.get('etag')! } });
    expect(again.status).toBe(304);
    for (const q of ['aserradero inexistente', rucOf(999_999), person.ruc]) {
      const { data, meta } = await search(by, { q });
      expect([data, meta.cursor]).toEqual([[], null]);
      const empty = targetOf({ q });
      expect((await by.request(empty, { method: 'HEAD' })).status).toBe(200);
    }
    await expectProblem(await by.request(targetOf({ q: 'ma' })), 'parametro_invalido');
    await expectUsed(by, 3);
  });
});

describe('among many similar names', () => {
  test('a small company is first under its exact name, and active companies come before ceased ones', async () => {
    const { data } = await search(await newCaller(), { q: 'maderera sac', limite: '50' });
    expect(data.slice(0, 2).map(({ ruc, coincidencia }) => [ruc, coincidencia])).toEqual([
      [small.ruc, 'exacta'],
      [smallCeased.ruc, 'exacta'],
    ]);
    expect(new Set(data.slice(2).map(({ estado }) => estado))).toEqual(new Set(['ACTIVO']));
    const all = (await pagesOf(await newCaller(), { q: 'maderera', limite: '50' })).flat();
    expect(all).not.toContain(person.ruc);
  });

  test('a name of abbreviations is first under itself and written out', async () => {
    const by = await newCaller();
    for (const q of [abbreviated.nombre, 'corporacion maderera inversiones servicios sa'])
      expect((await search(by, { q })).data[0]).toMatchObject({ ruc: abbreviated.ruc, nombre: abbreviated.nombre });
  });

  test('spaces and accents in typed or stored text make no difference; the name is shown as stored', async () => {
    const by = await newCaller();
    for (const q of ['maderera los altos', 'Maderéra   LOS altos', 'MADERERA  LOS   ALTOS S.A.'])
      expect((await search(by, { q })).data[0]).toMatchObject({ ruc: spaced.ruc, nombre: spaced.nombre });
  });

  test('two letters are refused; three are answered, page after page', async () => {
    const by = await newCaller();
    for (const q of ['ma', ' M A ', 'm.a.', 'MÁ']) {
      const problem = await expectProblem(await by.request(targetOf({ q })), 'parametro_invalido');
      expect(problem.errors).toMatchObject([{ campo: 'q' }]);
    }
    expect((await pagesOf(by, { q: 'mad', limite: '50' })).flat()).toHaveLength(1_000);
  });

  test('letters in another encoding than UTF-8 are refused, since they would find nothing', async () => {
    const by = await newCaller();
    for (const q of ['mader%E9ra', 'mader%u00E9ra', 'maderera%']) {
      const problem = await expectProblem(await by.request(`/id/v1/ruc/buscar?q=${q}`), 'parametro_invalido');
      expect(problem.errors).toEqual([{ campo: 'q', mensaje: 'no está en UTF-8, donde ñ es %C3%B1' }]);
    }
    expect((await search(by, { q: 'maderéra' })).data).not.toEqual([]);
  });
});

describe('every route with pages', () => {
  const paged = Object.entries<Operation>(operations).filter(([, { query }]) => query && 'limite' in query.shape);
  const withCursor = paged.filter(([, { query }]) => 'cursor' in query!.shape);
  const filled = ({ path }: Operation) =>
    path
      .replace('{ruc}', small.ruc)
      .replace('{lista}', '1')
      .replace('{webhook}', `wh_${'0'.repeat(32)}`);
  const required: Record<string, string> = {
    buscarEmpresas: 'q=maderera&',
    verEdiciones: 'registro=padron_reducido&',
    verProximosVencimientos: 'digito=3&',
  };
  let by: TestCaller;
  beforeAll(async () => {
    by = await makeCaller(around.pool, around.api.url, { plan: 'empresa' });
  });

  async function expectRefused(name: string, operation: Operation, query: string, campo: string): Promise<void> {
    const response = await by.request(`${filled(operation)}?${required[name] ?? ''}${query}`);
    const problem = await expectProblem(response, 'parametro_invalido');
    expect(problem.errors).toMatchObject([{ campo }]);
    expect(JSON.stringify(problem)).not.toMatch(/SELECT|postgres|clickhouse|Error:|node_modules/i);
  }

  test('there are such routes', () => {
    expect(paged.length).toBeGreaterThanOrEqual(7);
    expect(withCursor.length).toBeGreaterThanOrEqual(6);
  });

  test.each(paged)('%s: an invalid page size is named', async (name, operation) => {
    for (const limite of ['0', '-1', '1.5', '1e3', '255555555', '9'.repeat(40), 'todo', '%EF%BC%92', ''])
      await expectRefused(name, operation, `limite=${limite}`, 'limite');
  });

  test.each(withCursor)(
    '%s: a cursor of another list, a page number, a mistyped one is named',
    async (name, operation) => {
      const first = await search(by, { q: 'maderera', limite: '1' });
      const foreign = name === 'buscarEmpresas' ? Buffer.from('eventos:1').toString('base64url') : first.meta.cursor!;
      for (const cursor of [foreign, '10001', '255555555', `${foreign}A`, '%00', 'null', ''])
        await expectRefused(name, operation, `cursor=${cursor}`, 'cursor');
      const numbered = await by.request(`${filled(operation)}?${required[name] ?? ''}pagina=10001`);
      await expectProblem(numbered, 'parametro_desconocido');
    },
  );
});
