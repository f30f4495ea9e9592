import { afterAll, beforeAll, expect, inject, test } from 'vitest';
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

// A process that has been running over many editions must answer like one that has just read all names.

let clickhouse: ClickHouseClient;
let drop: () => Promise<void>;
let edition = 1;
const companies = new Map<string, TestCompany>();
const luck = makeLuck(11);
const pick = <Value>(list: readonly Value[]) => list[Math.floor(luck() * list.length)]!;

function drawn(ruc: string): TestCompany {
  const words = [pick(['INVERSIONES', 'GRUPO', 'PEÑA', "D'ANZO", 'G.D.C.']), pick(['KOLPA', 'SUR', 'NORTE', 'PERU'])];
  const nombre = [...words, pick(['UNO', 'DOS', 'TRES', '']), pick(['S.A.C.', 'S.R.L.', ''])].filter(Boolean).join(' ');
  return { ruc, nombre, estado: pick(['ACTIVO', 'ACTIVO', 'BAJA DE OFICIO']), ubigeo: pick(['150101', '040101']) };
}

/** Writes an edition in which companies appear, disappear and change their names, their standing or their ubigeo. */
async function writeEdition(): Promise<void> {
  const known = [...companies.values()].slice(0, 400);
  const changes = known.flatMap((company) => {
    if (luck() < 0.6) return [];
    const after = luck() < 0.3 ? null : drawn(company.ruc);
    companies.delete(company.ruc);
    if (after !== null) companies.set(after.ruc, after);
    return [changeOf(edition, company, after)];
  });
  for (let added = 0; added < 60; added += 1) {
    const company = drawn(rucOf(1_000 * edition + added));
    companies.set(company.ruc, company);
    changes.push(changeOf(edition, null, company));
  }
  await materialize(clickhouse, changes);
}

function newProcess(): { find: FindCompanies } {
  const taxpayers = makeTaxpayers(clickhouse, { waitMs: 0, maxKeys: 300, inFlight: 2 });
  const names = makeNameStore(askOnly(clickhouse), async () => edition);
  return { find: makeFindCompanies({ names, taxpayers }) };
}

const queries = [
  ...['inversiones kolpa', 'kolpa', 'gru', "d'anzo peru", 'gdc sur srl', 'peña norte', 'peru d', 'inversiones xwkzz'],
  ...['grupo kolpo dos', 'inversiones kolpa uno sac', 'tres sur', 'inversiones s'],
];

async function pagesOf({ find }: { find: FindCompanies }, q: string, ubigeo?: string): Promise<unknown[]> {
  const query = searchQuery.parse(ubigeo === undefined ? { q } : { q, ubigeo });
  const seen: unknown[] = [];
  let { hits, next } = await find(query, 20, null);
  for (; ; { hits, next } = await find(query, 20, next)) {
    seen.push(...hits);
    if (next === null) return seen;
  }
}

beforeAll(async () => {
  const store = await freshClickhouseDatabase(inject('endpoints'));
  drop = store.drop;
  await migrateClickhouse(store.CLICKHOUSE_URL);
  clickhouse = makeClickhouse(store.CLICKHOUSE_URL, 'test', { requestTimeoutMs: 20_000, connections: 4 });
  for (; edition < 10; edition += 1) await writeEdition();
  await writeEdition();
});
afterAll(async () => {
  await clickhouse?.close();
  await drop?.();
});

test('over editions, all pages are those of a process that has just started', { timeout: 60_000 }, async () => {
  const running = newProcess();
  let compared = 0;
  for (let each = 0; each < 5; each += 1) {
    const fresh = newProcess();
    for (const q of queries) {
      for (const ubigeo of [undefined, '04']) {
        const expected = await pagesOf(fresh, q, ubigeo);
        expect(await pagesOf(running, q, ubigeo), `${q} in edition ${edition}`).toEqual(expected);
        compared += expected.length;
      }
    }
    edition += 1;
    await writeEdition();
  }
  expect(compared).toBeGreaterThan(1_000);
});

test('names of an edition that is being written are found soon', async () => {
  const running = newProcess();
  await pagesOf(running, 'kolpa');
  const company = { ruc: rucOf(999_001), nombre: 'KOLPA SUR NORTE S.A.C.' };
  await materialize(clickhouse, [changeOf(edition + 1, null, company)]);
  await expect
    .poll(async () => (await running.find(searchQuery.parse({ q: 'kolpa sur norte' }), 5, null)).hits.length, {
      timeout: 5_000,
    })
    .toBe(1);
});

test('a table that a rebuild has exchanged is read anew', async () => {
  const running = newProcess();
  expect(await pagesOf(running, 'kolpa')).not.toEqual([]);
  await clickhouse.command({ query: 'CREATE TABLE ranked_name_rebuild AS ranked_name' });
  await clickhouse.command({ query: 'EXCHANGE TABLES ranked_name_rebuild AND ranked_name' });
  await expect.poll(() => pagesOf(running, 'kolpa'), { timeout: 5_000 }).toEqual([]);
  await clickhouse.command({ query: 'EXCHANGE TABLES ranked_name_rebuild AND ranked_name' });
  await expect.poll(() => pagesOf(running, 'kolpa'), { timeout: 5_000 }).not.toEqual([]);
});
