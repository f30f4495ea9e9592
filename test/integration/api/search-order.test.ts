import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makeTaxpayers } from '../../../api/queries/look-up.ts';
import { type FindCompanies, makeFindCompanies } from '../../../api/search/find-companies.ts';
import { compareRanks, type Rank } from '../../../api/search/rank.ts';
import { makeNameStore } from '../../../api/search/store.ts';
import { type Term, type Terms, termsOf } from '../../../api/search/terms.ts';
import { askOnly } from '../../../api/stores/replicas.ts';
import { standingOf } from '../../../pipelines/consumers/company-names.ts';
import { type ClickHouseClient, makeClickhouse } from '../../../pipelines/runtime/clickhouse.ts';
import { migrateClickhouse } from '../../../pipelines/runtime/migrate.ts';
import { searchQuery } from '../../../schemas/http/search.ts';
import { type FoldedName, foldName } from '../../../schemas/names/fold.ts';
import { mayBeginForm } from '../../../schemas/names/legal-forms.ts';
import { lettersOf, searchedWords } from '../../../schemas/names/spans.ts';
import { freshClickhouseDatabase } from '../../support/engines/isolation.ts';
import { changeOf, materialize, rucOf, type TestCompany } from '../../support/registers/companies.ts';

// Compares pages with the defined order, computed name by name. Many names are made of few words, so that every way of
// reading is taken: few names and more than one read, forms and Ñ of many, few or no names, and beginnings that no name
// has.

const firsts = ['INVERSIONES', 'SERVICIOS', 'GRUPO', 'PEÑA', 'PENA', 'PENAL', 'ÑAUPA', 'MADERERA', 'MADERAS'];
const seconds = ['DEL SUR', 'DEL NORTE', 'PERU', 'ÑANDU', 'NANDU', 'KOLPA', 'Y HERMANOS', 'SUR', 'SURCO', ''];
const thirds = ['UNO', 'DOS', 'PERU', 'PEÑA', 'SAN', 'SANTA', 'G.D.C.', 'G D C', "D'ANZO", ''];
const forms = ['S.A.C.', 'S.A.C.', 'S.A.C.', 'S.A.', 'E.I.R.L.', 'S.R.L.', ''];
const estados = ['ACTIVO', 'ACTIVO', 'BAJA DE OFICIO'];
const condiciones = ['HABIDO', 'HABIDO', 'NO HABIDO'];

const companies: TestCompany[] = Array.from({ length: 9_000 }, (_, number) => {
  const draw = (list: readonly string[], salt: number) =>
    list[(Math.imul(number + 1, 2_654_435_761 + 2 * salt) >>> 8) % list.length]!;
  const nombre = [draw(firsts, 5), draw(seconds, 3), draw(thirds, 11), draw(forms, 13)].filter(Boolean).join(' ');
  return { ruc: rucOf(number), nombre, estado: draw(estados, 17), condicion: draw(condiciones, 19) };
});
companies.push({ ruc: rucOf(9_001), nombre: 'QUERCO S.A.A.' }, { ruc: rucOf(9_002), nombre: 'SUR QUERCO S.A.C.' });
// The only ones of their form, far back in the order by length.
for (const number of [9_003, 9_004, 9_005])
  companies.push({ ruc: rucOf(number), nombre: `INVERSIONES DE LARGO NOMBRE ${'PERU '.repeat(number - 9_000)}S.A.A.` });
// The active ones have another form than all others.
for (let number = 10_000; number < 10_700; number += 1)
  companies.push({
    ruc: rucOf(number),
    nombre: number < 10_030 ? 'LLAVES DEL SUR S.A.' : 'LLAVES DEL NORTE S.A.C.',
    estado: number < 10_030 ? 'ACTIVO' : 'BAJA DE OFICIO',
  });

let clickhouse: ClickHouseClient;
let find: FindCompanies;
let drop: () => Promise<void>;

beforeAll(async () => {
  const store = await freshClickhouseDatabase(inject('endpoints'));
  drop = store.drop;
  await migrateClickhouse(store.CLICKHOUSE_URL);
  clickhouse = makeClickhouse(store.CLICKHOUSE_URL, 'test', { requestTimeoutMs: 10_000, connections: 4 });
  const changes = companies.map((company) => changeOf(1, null, company));
  await materialize(clickhouse, changes);
  const taxpayers = makeTaxpayers(clickhouse, { waitMs: 0, maxKeys: 300, inFlight: 2 });
  find = makeFindCompanies({ names: makeNameStore(askOnly(clickhouse), async () => 1), taxpayers });
});
afterAll(async () => {
  await clickhouse?.close();
  await drop?.();
});

/** Null: no name has all the words. */
function rankOf({ ruc, nombre, estado = 'ACTIVO', condicion = 'HABIDO' }: TestCompany, terms: Terms): Rank | null {
  const folded = foldName(nombre);
  const { base, form, enie } = folded;
  const place = placeOf(folded, terms);
  if (place === null) return null;
  const lacksEnie = terms.enie.some((word) => !` ${enie}`.includes(` ${word}`));
  const isSpelledOtherwise = place < 2 && base !== terms.base;
  const mismatch = [terms.form !== '' && form !== terms.form, isSpelledOtherwise].filter(Boolean).length;
  const standing = standingOf({ estado, condicion });
  return { place, standing, mismatch: mismatch + (lacksEnie ? 2 : 0), length: base.length, ruc };
}

function placeOf(name: FoldedName, terms: Terms): number | null {
  const letters = lettersOf(name.spans, 12);
  if (terms.letters.some((each) => letters.includes(each))) return name.form === terms.form ? 0 : 1;
  if (name.base.startsWith(terms.base)) return 2;
  const words = searchedWords(name).split(' ');
  const hasAll = (all: readonly string[]) => all.every((word) => words.includes(word));
  const hasTerm = ({ same, parts }: Term) =>
    same.some((word) => words.includes(word)) || (parts.length > 0 && hasAll(parts));
  const isLast = terms.ends.some(({ before, begin }, index) => {
    const isWord = words.some((each) => each.startsWith(begin));
    const isMore = index > 0 || terms.typed.length > 1;
    return hasAll(before) && (isWord || (isMore && mayBeginForm(begin) && name.form.startsWith(begin)));
  });
  return terms.whole.every(hasTerm) && (isLast || hasTerm(terms.last)) ? 3 : null;
}

test.each([
  ...['inversiones', 'INVERSIONES SAC', 'peña', 'pena', 'peña sac', 'peña eirl', 'pen', 'peñ', 'ñau', 'nau', 'mader'],
  ...['sur', 'surc', 'peru', 'kol', 'santa', 'sur del', 'grupo peru', 'grupo peru saa', 'peru grupo', 'del sur in'],
  ...[
    'del ñ',
    'inversiones ñandu s a c',
    'ñandu inversiones',
    'inversiones del sur uno',
    'servicios del',
    'servicios s',
  ],
  ...[
    'grupo kolpa san',
    'grupo san',
    'inv sur',
    'querco',
    'querco sac',
    'quer',
    'sur quer',
    'maderera peña sa',
    'peña peru p',
  ],
  ...['inversiones saa', 'llaves sac', 'llaves', 'llaves s'],
  ...[
    'gdc',
    'g d c',
    'grupo g d',
    'grupo gd',
    'g.d.c. peña',
    "d'anzo",
    'd anzo',
    "grupo d'an",
    'kolpa danzo',
    'la peña y sur',
  ],
])('%s', async (q) => {
  const terms = termsOf(q)!;
  const ranks = companies.map((company) => rankOf(company, terms)).filter((rank) => rank !== null);
  const expected = ranks.sort(compareRanks);
  expect(expected.length).toBeGreaterThan(0);
  for (const limite of [20, 50]) {
    const query = searchQuery.parse({ q, limite: String(limite) });
    const { hits, next } = await find(query, limite, null);
    const found = hits.filter(({ rank }) => rank.place < 4).map(({ rank }) => rank);
    expect(found).toEqual(expected.slice(0, limite));
    if (next === null) continue;
    const second = await find(query, limite, next);
    const after = second.hits.filter(({ rank }) => rank.place < 4).map(({ rank }) => rank);
    expect(after).toEqual(expected.slice(limite, 2 * limite));
  }
});
