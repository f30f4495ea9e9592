import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { makeTaxpayers } from '../../../api/queries/look-up.ts';
import { type FindCompanies, makeFindCompanies } from '../../../api/search/find-companies.ts';
import { makeNameStore } from '../../../api/search/store.ts';
import { askOnly } from '../../../api/stores/replicas.ts';
import { type ClickHouseClient, makeClickhouse } from '../../../pipelines/runtime/clickhouse.ts';
import { migrateClickhouse } from '../../../pipelines/runtime/migrate.ts';
import { searchQuery } from '../../../schemas/http/search.ts';
import { makeLuck } from '../../bench/search-names.ts';
import { freshClickhouseDatabase } from '../../support/engines/isolation.ts';
import { changeOf, materialize, rucOf, type TestCompany } from '../../support/registers/companies.ts';
import { type SpelledName, spelledName } from '../../support/registers/name-spellings.ts';

// What people type, on the real index: examples, a generated register, and an index that the last release folded.

let clickhouse: ClickHouseClient;
let drop: () => Promise<void>;
let edition = 1;
const written: TestCompany[] = [];

beforeAll(async () => {
  const store = await freshClickhouseDatabase(inject('endpoints'));
  drop = store.drop;
  await migrateClickhouse(store.CLICKHOUSE_URL);
  clickhouse = makeClickhouse(store.CLICKHOUSE_URL, 'test', { requestTimeoutMs: 20_000, connections: 4 });
});
afterAll(async () => {
  await clickhouse?.close();
  await drop?.();
});
afterEach(async () => {
  await materialize(
    clickhouse,
    written.splice(0).map((company) => changeOf(edition + 1, company, null)),
  );
  for (const table of ['ranked_name', 'company_word']) await clickhouse.command({ query: `TRUNCATE TABLE ${table}` });
  edition += 2;
});

async function write(names: readonly string[]): Promise<void> {
  const companies = names.map((nombre, index) => ({ ruc: rucOf(index), nombre }));
  written.push(...companies);
  await materialize(
    clickhouse,
    companies.map((company) => changeOf(edition, null, company)),
  );
}

/** A search with a vocabulary of its own, as a process has that just started. */
function newSearch(): (q: string, limite?: number) => ReturnType<FindCompanies> {
  const taxpayers = makeTaxpayers(clickhouse, { waitMs: 0, maxKeys: 300, inFlight: 2 });
  const find = makeFindCompanies({ names: makeNameStore(askOnly(clickhouse), async () => 1), taxpayers });
  return (q, limite = 20) => find(searchQuery.parse({ q, limite: String(limite) }), limite, null);
}

async function expectFirst(q: string, nombre: string, ...places: number[]): Promise<void> {
  const { hits } = await newSearch()(q);
  expect(hits[0]?.company.nombre, q).toBe(nombre);
  if (places.length > 0) expect(places, q).toContain(hits[0]!.rank.place);
}

const others = [
  'PUYAQUE HERMANOS S.A.C.',
  'DIEGO PUYAQUE E.I.R.L.',
  'HUALLAYO SERVICIOS S.A.',
  'MUNICIPALIDAD PROVINCIAL DE RICARDO',
  'GRUPO DE LA CRUZ S.A.C.',
  'C G D INVERSIONES S.A.C.',
  '20 21 437 S.A.C.',
  'SOLUCIONES S.A.C.',
  'INDUSTRIAS KOLPA S.A.',
];

describe('examples', () => {
  test.each([
    ["D'PUYAQUE & CIA S.R.L.", ['D PUYAQUE', 'DPUYAQUE'], [2, 3]],
    ["D'PUYAQUE & CIA S.R.L.", ['D´PUYAQUE & CIA', "D' PUYAQUE Y CIA", 'd ´ puyaque cia'], [1]],
    ["D'PUYAQUE & CIA S.R.L.", ['DPUYAQUE CIA S R L', 'd puyaque cia s.r.ltda.', 'D’PUYAQUE Y COMPAÑÍA SRL'], [0]],
    ["L'HUALLAYO'S", ['L HUALLAYO S', 'LHUALLAYOS', "l huallayo's", 'L ´HUALLAYO ´S'], [0]],
    ['G.D.C. S.A.C.', ['G D C', 'GDC', 'G & D & C', 'g. d. c.'], [1]],
    ['G D C S.A.C.', ['G.D.C. SAC', 'gdc s a c', 'g-d-c sociedad anonima cerrada'], [0]],
    [
      'CONSORCIO GDC DEL PERU S.A.',
      ['consorcio g.d.c. peru', 'consorcio g d c del peru', 'CONSORCIO G & D & C PERU'],
      [1],
    ],
    [
      'MUNICIPALIDAD PROVINCIAL  RICACA',
      ['municipalidad provincial de ricaca', 'muni prov del ricaca', 'mun. prov. ricaca'],
      [0],
    ],
    ['BANCO DE LA CORDILLERA S.A.A.', ['banco cordillera', 'banco del la cordillera', 'banco y cordillera'], [1]],
    ['ASOC. DE VIVIENDA STA. BALTURA', ['asociacion vivienda santa baltura', 'asoc vivienda sta baltura'], [0]],
    ['20 21 436 S.A.C.', ['20 21 436 s a c', '20 21 436 S. A. C.', '20 21 436 sociedad anonima cerrada'], [0]],
    ['SUPERMERCADO BALTURA S.A.', ['super mercado baltura'], [1]],
  ])('%s', async (nombre, typed, places) => {
    await write([...others, nombre]);
    for (const q of typed) await expectFirst(q, nombre, ...places);
  });

  test('an abbreviation that is also a word finds both, the whole word first', async () => {
    await write([...others, 'SOL S.A.C.', 'IND KOLPA S.A.']);
    const named = async (q: string) => (await newSearch()(q)).hits.map(({ company }) => company.nombre);
    expect((await named('sol sac')).slice(0, 2)).toEqual(['SOL S.A.C.', 'SOLUCIONES S.A.C.']);
    expect((await named('ind kolpa')).slice(0, 2)).toEqual(['IND KOLPA S.A.', 'INDUSTRIAS KOLPA S.A.']);
    expect((await named('industrias kolpa')).slice(0, 2)).toEqual(['INDUSTRIAS KOLPA S.A.', 'IND KOLPA S.A.']);
  });
});

describe('one wrong word', () => {
  const many = Array.from({ length: 1_050 }, (_, index) => `INVERSIONES N${index} S.A.C.`);

  test('does not give an empty page: names without it are approximate', async () => {
    await write([...many, 'FERRETERIA QUIROBAMBA DEL NORTE S.A.C.', 'BOTICA QUIROBAMBA E.I.R.L.']);
    const found = async (q: string) => {
      const { hits } = await newSearch()(q);
      return hits.map(({ company, rank }) => `${rank.place} ${company.nombre}`);
    };
    const ferreteria = '7 FERRETERIA QUIROBAMBA DEL NORTE S.A.C.';
    expect(await found('ferreteria quirobamba xwkzz')).toEqual([ferreteria]);
    expect(await found('ferreteria botica quirobamba')).toEqual(['7 BOTICA QUIROBAMBA E.I.R.L.', ferreteria]);
    // INVERSIONES alone is in more than 1,000 names, and says nothing about this query.
    expect(await found('inversiones quirobamba')).toEqual(['7 BOTICA QUIROBAMBA E.I.R.L.', ferreteria]);
    expect(await found('inversiones xwkzz')).toEqual([]);
    expect(await found('xwkzz qjwkk')).toEqual([]);
    // A word with an error comes before a word left out.
    expect(await found('ferreteria quirobamva')).toEqual([ferreteria.replace('7', '4')]);
  });

  test('goes on over pages, each name once', async () => {
    await write([...many, ...Array.from({ length: 45 }, (_, index) => `QUIROBAMBA ${index} S.A.C.`)]);
    const taxpayers = makeTaxpayers(clickhouse, { waitMs: 0, maxKeys: 300, inFlight: 2 });
    const find = makeFindCompanies({ names: makeNameStore(askOnly(clickhouse), async () => 1), taxpayers });
    const query = searchQuery.parse({ q: 'inversiones quirobamba' });
    const seen: string[] = [];
    let { hits, next } = await find(query, 20, null);
    for (; ; { hits, next } = await find(query, 20, next)) {
      seen.push(...hits.map(({ company }) => company.ruc));
      if (next === null) break;
    }
    expect([seen.length, new Set(seen).size]).toEqual([45, 45]);
  });
});

interface Count {
  typed: number;
  onPage: number;
  unique: number;
  first: number;
}

test('every way of writing every name of a generated register finds it, first where the name is unique', {
  timeout: 300_000,
}, async () => {
  // The folding alone is tested with many more names in test/unit/schemas/names.
  const luck = makeLuck(2026);
  const register: SpelledName[] = Array.from({ length: 60 }, () => spelledName(luck));
  await write(register.map(({ nombre }) => nombre));
  const search = newSearch();
  const counts: Record<string, Count> = {};
  const missed: string[] = [];
  const questions = register.flatMap(({ nombre, identity, typed }) => {
    const isUnique = register.filter((each) => each.identity === identity).length === 1;
    return typed.map((each) => ({ ...each, nombre, isUnique }));
  });
  const askNext = async () => {
    for (let question = questions.pop(); question !== undefined; question = questions.pop()) {
      const { rule, text, nombre, isUnique } = question;
      const { hits } = await search(text);
      const at = hits.findIndex(({ company }) => company.nombre === nombre);
      counts[rule] ??= { typed: 0, onPage: 0, unique: 0, first: 0 };
      counts[rule].typed += 1;
      if (at >= 0) counts[rule].onPage += 1;
      if (isUnique) counts[rule].unique += 1;
      if (isUnique && at === 0) counts[rule].first += 1;
      if (at < 0 || (isUnique && at > 0)) missed.push(`${text} for ${nombre}: ${at}, ${hits[0]?.company.nombre}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, askNext));
  console.table(counts);
  expect(missed).toEqual([]);
});

describe('an index that the last release folded', () => {
  const names = [
    'ACME DEL SUR S.A.C.',
    "D'PUYAQUE & CIA S.R.L.",
    '20 21 436 S A C',
    'BOTICA X SOC. COM. DE RESP. LTDA.',
  ];
  const folded = [
    { name: 'ACME DEL SUR', form: 'SAC' },
    { name: 'DPUYAQUE COMPANIA', form: 'SRL' },
    { name: '20 21 436S A C', form: '' },
    { name: 'BOTICA X SOC COM DE RESP LTDA', form: '' },
  ];

  test('finds what it found', async () => {
    await write(names);
    // The table as the last release made it and wrote to it.
    for (const query of [
      'TRUNCATE TABLE ranked_name',
      'TRUNCATE TABLE company_word',
      'ALTER TABLE ranked_name DROP COLUMN letters',
    ])
      await clickhouse.command({ query });
    const rows = folded.map(({ name, form }, index) => ({
      ...{ name, ruc: rucOf(index), version: edition, is_deleted: 0, form, words: name, enie: '', standing: 0 },
      ...{ length: name.length, estado: 'ACTIVO', condicion: 'HABIDO', ubigeo: '150101' },
    }));
    await clickhouse.insert({ table: 'ranked_name', values: rows, format: 'JSONEachRow' });
    const words = [...new Set(folded.flatMap(({ name }) => name.split(' ')))].map((word) => ({ word }));
    await clickhouse.insert({ table: 'company_word', values: words, format: 'JSONEachRow' });
    const file = new URL('../../../schemas/clickhouse/0007_name_letters.sql', import.meta.url);
    const statements = readFileSync(file, 'utf8')
      .replace(/^--.*$/gm, '')
      .split(';')
      .map((each) => each.trim());
    const addsLetters = statements.find((each) => each.includes('ADD COLUMN'));
    await clickhouse.command({ query: addsLetters! });
    await expectFirst('acme sur sac', names[0]!, 0);
    await expectFirst('acme del sur', names[0]!, 1);
    await expectFirst("d'puyaque & cia", names[1]!, 1);
    await expectFirst('20 21 436', names[2]!);
    await expectFirst('botica x', names[3]!);
  });
});
