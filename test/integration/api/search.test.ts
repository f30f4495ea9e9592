import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { searchAnswer } from '../../../schemas/http/search.ts';
import { expectProblem, makeCaller, type TestCaller } from '../../support/api/process.ts';
import { type Surroundings, startSurroundings } from '../../support/api/surroundings.ts';
import { changeOf, materialize, rucOf, type TestCompany } from '../../support/registers/companies.ts';
import { insertEdition, untilCatalogueIsRead } from '../../support/registers/served-register.ts';

const baja = { estado: 'BAJA DEFINITIVA' };
const nandu = { ruc: rucOf(1), nombre: 'INVERSIONES ÑANDU S.A.C.' };
const andu = { ruc: rucOf(2), nombre: 'ANDU S.A.C.' };
const grupo3a = { ruc: rucOf(3), nombre: 'GRUPO 3A E.I.R.L.' };
const grupoA = { ruc: rucOf(4), nombre: 'GRUPO A S.A.' };
const acmeBaja = { ruc: rucOf(5), nombre: 'ACME PERU SAC', ...baja };
const acme = { ruc: rucOf(6), nombre: 'ACME PERU S.A.C.' };
const kolpa = { ruc: rucOf(7), nombre: 'DISTRIBUIDORA KOLPA S.A.C.', ubigeo: '040101' };
const perez = { ruc: rucOf(8, '10'), nombre: 'PEREZ QUISPE MARIA JOSE' };
const itau = { ruc: rucOf(9), nombre: 'ITAÚ ASESORES  DEL PERÚ S.A.', condicion: 'NO HABIDO' };
const initials = { ruc: rucOf(10), nombre: 'R.P.S. CIA. MUN. S.A.' };
const acmeSrl = { ruc: rucOf(11), nombre: 'ACME PERU S.R.L.' };
const nanduPlain = { ruc: rucOf(12), nombre: 'INVERSIONES NANDU S.A.C.' };
const suspended = { ruc: rucOf(13), nombre: 'TALLERES DEL CENTRO S.A.', estado: 'SUSPENSION TEMPORAL' };
const maria = { ruc: rucOf(14), nombre: 'PEREZ MARIA E HIJOS S.R.LTDA.' };
const many: TestCompany[] = Array.from({ length: 30 }, (_, index) => ({
  ruc: rucOf(100 + index),
  nombre: `MADERERA ${String.fromCharCode(65 + (index % 26))}${index} S.A.C.`,
  ...(index % 3 === 0 ? baja : {}),
}));
const all = [
  nandu,
  andu,
  grupo3a,
  grupoA,
  acmeBaja,
  acme,
  kolpa,
  perez,
  itau,
  initials,
  acmeSrl,
  nanduPlain,
  suspended,
];

let surroundings: Surroundings;
let caller: TestCaller;

beforeAll(async () => {
  surroundings = await startSurroundings();
  const { pool, clickhouse, api } = surroundings;
  await materialize(
    clickhouse,
    [...all, maria, ...many].map((company) => changeOf(1, null, company)),
  );
  await insertEdition(pool, { number: 1, fechaDato: '2026-11-26' });
  await untilCatalogueIsRead();
  caller = await makeCaller(pool, api.url, { plan: 'micro' });
});
afterAll(() => surroundings?.stop());

async function search(parameters: Record<string, string>) {
  const response = await caller.request(`/id/v1/ruc/buscar?${new URLSearchParams(parameters)}`);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return searchAnswer.parse(JSON.parse(text));
}
const found = async (q: string, more: Record<string, string> = {}) =>
  (await search({ q, ...more })).data.map(({ nombre }) => nombre);

describe('words of users', () => {
  test.each([
    ['ñandú sac', nandu],
    ['NANDU', nandu],
    ['inversiones ñandu s a c', nandu],
    ['INV ÑANDU', nandu],
    ['grupo 3 a eirl', grupo3a],
    ['GRUPO 3A', grupo3a],
    ['distribuidra kolpa', kolpa],
    ['kolpa dist', kolpa],
    ['DIST. KOLPA SAC', kolpa],
    // A name of abbreviations.
    ['R.P.S. CIA. MUN. S.A.', initials],
    ['rps compañia municipalidad', initials],
  ])('%s finds its company first', async (q, { nombre }) => {
    expect((await found(q))[0]).toBe(nombre);
  });

  test('a name with Ñ is found without it, and comes first with it', async () => {
    expect(new Set(await found('inversiones nandu'))).toEqual(new Set(await found('inversiones ñandu')));
    expect((await found('inversiones ñandu'))[0]).toBe(nandu.nombre);
    expect(await found('andu')).toEqual([andu.nombre]);
  });

  test('accents and double spaces make no difference; the name is shown as the register writes it', async () => {
    for (const q of ['itau asesores del peru', 'ITAÚ   asesores del Perú s.a.', 'itaú']) {
      expect(await found(q)).toEqual([itau.nombre]);
    }
  });

  test('within a tier the active one is first, both are listed, and the other form follows', async () => {
    const { data } = await search({ q: 'acme peru sac' });
    expect(data.map(({ nombre, estado, coincidencia }) => [nombre, estado, coincidencia])).toEqual([
      ['ACME PERU S.A.C.', 'ACTIVO', 'exacta'],
      ['ACME PERU SAC', 'BAJA DEFINITIVA', 'exacta'],
      ['ACME PERU S.R.L.', 'ACTIVO', 'exacta_sin_forma'],
    ]);
    const scores = data.map(({ puntaje }) => puntaje);
    expect(scores).toEqual([...scores].sort((one, other) => other - one));
    expect(data[0]!.puntaje).toBe(100);
  });

  test('neither a shorter name of another company nor an approximate match is first', async () => {
    expect((await found('grupo a'))[0]).toBe(grupoA.nombre);
    // No name has 3B, which is not mistyped 3A either, so all that is shown lacks it.
    const { data } = await search({ q: 'grupo 3b' });
    expect(data.map(({ nombre, coincidencia }) => [nombre, coincidencia])).toEqual([
      [grupoA.nombre, 'aproximada'],
      [grupo3a.nombre, 'aproximada'],
    ]);
  });

  test('natural persons are never found, whatever is typed', async () => {
    // The company lacks one of the words.
    expect(await found('maría josé pérez')).toEqual([maria.nombre]);
    expect(await found('quispe maria jose')).toEqual([]);
    expect(await found('perez maria')).toEqual([maria.nombre]);
    expect(await found(perez.ruc)).toEqual([]);
  });
});

describe('a RUC as the text', () => {
  test('gives its company, with or without spaces, or an empty page', async () => {
    expect(await found(kolpa.ruc)).toEqual([kolpa.nombre]);
    const [kind, number, check] = [kolpa.ruc.slice(0, 2), kolpa.ruc.slice(2, -1), kolpa.ruc.at(-1)];
    for (const q of [
      `RUC ${kolpa.ruc}`,
      `R.U.C. N° ${kolpa.ruc}`,
      `${kind}-${number}-${check}`,
      `${kind} ${number}${check}`,
    ])
      expect(await found(q)).toEqual([kolpa.nombre]);
    expect(await found(`RUC ${perez.ruc}`)).toEqual([]);
    for (const q of [rucOf(999), '10440000012', '12345678901', '20000000000']) {
      expect((await search({ q })).data).toEqual([]);
    }
  });
});

describe('pages', () => {
  test('go through all hits once, in one order, and end', async () => {
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page = await search({ q: 'maderera', limite: '7', ...(cursor === '' ? {} : { cursor }) });
      seen.push(...page.data.map(({ ruc }) => ruc));
      ({ cursor } = page.meta);
      expect(page.meta.edicion_cambiada).toBe(false);
    }
    const active = many.filter(({ estado }) => estado === undefined).map(({ ruc }) => ruc);
    expect(seen.slice(0, active.length).sort()).toEqual([...active].sort());
    expect(seen.toSorted()).toEqual(many.map(({ ruc }) => ruc).toSorted());
  });

  test('a cursor of another query or a made-up one is refused', async () => {
    const { meta } = await search({ q: 'maderera', limite: '7' });
    const other = new URLSearchParams({ q: 'talleres', cursor: meta.cursor! });
    for (const query of [other, new URLSearchParams({ q: 'maderera', cursor: 'eventos:1' })]) {
      const problem = await expectProblem(await caller.request(`/id/v1/ruc/buscar?${query}`), 'parametro_invalido');
      expect(problem.errors).toMatchObject([{ campo: 'cursor' }]);
    }
  });
});

describe('filters', () => {
  test('estado, condicion and ubigeo narrow the list; as shown or without accents', async () => {
    expect(await found('acme peru', { estado: 'BAJA DEFINITIVA' })).toEqual([acmeBaja.nombre]);
    expect(await found('itau', { condicion: 'habido' })).toEqual([]);
    expect(await found('itau', { condicion: 'NO HABIDO' })).toEqual([itau.nombre]);
    for (const estado of ['SUSPENSIÓN TEMPORAL', 'suspension temporal']) {
      expect(await found('talleres', { estado })).toEqual([suspended.nombre]);
    }
    for (const ubigeo of ['04', '0401', '040101']) expect(await found('kolpa', { ubigeo })).toEqual([kolpa.nombre]);
    expect(await found('kolpa', { ubigeo: '15' })).toEqual([]);
    expect(await found(kolpa.ruc, { ubigeo: '15' })).toEqual([]);
  });

  test('a hit has its place', async () => {
    expect((await search({ q: 'kolpa' })).data).toMatchObject([
      { ubigeo: '040101', departamento: 'AREQUIPA', distrito: 'AREQUIPA', coincidencia: 'palabras' },
    ]);
  });
});

describe('what is refused', () => {
  test.each([
    [{ q: 'ab' }, 'q'],
    [{ q: '¿?¡!·' }, 'q'],
    [{ q: 'A'.repeat(101) }, 'q'],
    [{}, 'q'],
    [{ q: 'acme', limite: '51' }, 'limite'],
    [{ q: 'acme', limite: '0' }, 'limite'],
    [{ q: 'acme', ubigeo: '1501012' }, 'ubigeo'],
    [{ q: 'acme', estado: '<b>' }, 'estado'],
    // There are no page numbers.
    [{ q: 'acme', cursor: '255555555' }, 'cursor'],
  ])('%o', async (parameters, campo) => {
    const query = new URLSearchParams(parameters as Record<string, string>);
    const problem = await expectProblem(await caller.request(`/id/v1/ruc/buscar?${query}`), 'parametro_invalido');
    expect(problem.errors).toMatchObject([{ campo }]);
  });

  test('an unknown parameter, and a plan without search', async () => {
    await expectProblem(await caller.request('/id/v1/ruc/buscar?q=acme&pagina=2'), 'parametro_desconocido');
    const free = await makeCaller(surroundings.pool, surroundings.api.url, { plan: 'free' });
    await expectProblem(await free.request('/id/v1/ruc/buscar?q=acme'), 'plan_insuficiente');
  });
});

describe('editions', () => {
  test('a renamed company is found under its new name only, a deleted one not at all; the next page reports the change', async () => {
    const { pool, clickhouse } = surroundings;
    const first = await search({ q: 'maderera', limite: '7' });
    expect(await found('sur aserra')).toEqual([]);
    const renamed = { ...many[1]!, nombre: 'ASERRADERO DEL SUR S.A.C.' };
    await materialize(clickhouse, [changeOf(2, many[1]!, renamed), changeOf(2, grupoA, null)]);
    await insertEdition(pool, { number: 2, fechaDato: '2026-11-27', sha256: 'ef'.repeat(32) });
    await expect.poll(async () => (await search({ q: 'acme' })).meta.fecha_dato).toBe('2026-11-27');
    // Words that are new in this edition: whole, unfinished and mistyped.
    for (const q of ['aserradero', 'sur aserra', 'aserradreo']) expect(await found(q)).toEqual([renamed.nombre]);
    expect(await found(many[1]!.nombre)).not.toContain(many[1]!.nombre);
    expect(await found('grupo a')).toEqual([grupo3a.nombre]);
    const second = await search({ q: 'maderera', limite: '50', cursor: first.meta.cursor! });
    expect(second.meta).toMatchObject({ edicion_cambiada: true, cursor: null });
    const rucs = [...first.data, ...second.data].map(({ ruc }) => ruc);
    expect(new Set(rucs).size).toBe(rucs.length);
  });

  test('the state wins over the index where rows of an older edition were read again or never merged', async () => {
    const { clickhouse } = surroundings;
    // A replay of the topic from its beginning brings such rows.
    await materialize(clickhouse, [changeOf(1, null, many[1]!), changeOf(1, null, grupoA)]);
    expect(await found('aserradero')).toEqual(['ASERRADERO DEL SUR S.A.C.']);
    expect(await found(many[1]!.nombre)).not.toContain(many[1]!.nombre);
    expect(await found('grupo a')).not.toContain(grupoA.nombre);
  });

  test('an unchanged answer is not sent twice', async () => {
    const target = '/id/v1/ruc/buscar?q=kolpa';
    const first = await caller.request(target);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    const again = await caller.request(target, { headers: { 'if-none-match': first.headers.get('etag')! } });
    expect(again.status).toBe(304);
    const head = await caller.request(target, { method: 'HEAD' });
    expect([head.status, head.headers.get('etag')]).toEqual([200, first.headers.get('etag')]);
  });
});

describe('an incomplete store', () => {
  // An empty page would be a claim.
  test('an empty index of names gives 503, never an empty page', async () => {
    const lost = await startSurroundings();
    try {
      const reader = await makeCaller(lost.pool, lost.api.url, { plan: 'micro' });
      await expectProblem(await reader.request('/id/v1/ruc/buscar?q=acme'), 'padron_no_disponible');
      await materialize(lost.clickhouse, [changeOf(1, null, acme)]);
      await lost.clickhouse.command({ query: 'TRUNCATE TABLE ranked_name' });
      await insertEdition(lost.pool, { number: 1, fechaDato: '2026-11-26' });
      // Until the process knows the edition, the same search gives 503 for another reason. A look-up shows when it
      // does.
      await expect
        .poll(async () => (await reader.request(`/id/v1/ruc/${acme.ruc}`)).status, { timeout: 5_000 })
        .toBe(200);
      await expectProblem(await reader.request('/id/v1/ruc/buscar?q=acme'), 'padron_no_disponible');
      lost.clickhouseLine.cut();
      await expectProblem(await reader.request('/id/v1/ruc/buscar?q=acme'), 'servicio_no_disponible');
    } finally {
      await lost.stop();
    }
  });
});
