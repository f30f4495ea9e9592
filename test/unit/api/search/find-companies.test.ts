import { describe, expect, test } from 'vitest';
import type { StoredRow } from '../../../../api/queries/taxpayer-rows.ts';
import type { CurrentRows } from '../../../../api/search/confirm.ts';
import { makeFindCompanies } from '../../../../api/search/find-companies.ts';
import type { Rank } from '../../../../api/search/rank.ts';
import type { NearWords, Statement } from '../../../../api/search/statements.ts';
import type { Candidate, NameStore } from '../../../../api/search/store.ts';
import { searchQuery } from '../../../../schemas/http/search.ts';
import { rucOf } from '../../../support/companies.ts';

const state = new Map<string, StoredRow>();
const taxpayers: CurrentRows = {
  find: async (ruc) => (state.has(ruc) ? [state.get(ruc)!] : []),
  findMany: async (rucs) => rucs.map((ruc) => (state.has(ruc) ? [state.get(ruc)!] : [])),
};

function stored(number: number, more: Partial<StoredRow> & { estado?: string } = {}): void {
  const { estado = 'ACTIVO', ...row } = more;
  const cells = [`ACME ${number} SAC`, estado, 'HABIDO', '150101'];
  state.set(rucOf(number), { register: 1, version: 1, isDeleted: false, cells, ...row });
}

function candidate(number: number, place: number, estado = 'ACTIVO'): Candidate {
  const rank = { place, standing: estado === 'ACTIVO' ? 0 : 2, mismatch: 0, length: 9, ruc: rucOf(number) };
  return {
    name: `ACME ${number}`,
    form: 'SAC',
    ruc: rucOf(number),
    estado,
    condicion: 'HABIDO',
    ubigeo: '150101',
    rank,
  };
}

/** Answers each statement's tier from a list in order, as ClickHouse would, and counts how often it is asked. */
function storeOf(all: readonly Candidate[], near: readonly NearWords[] = []) {
  const asked = { names: 0, words: 0, near: 0 };
  const tierOf = ({ query }: Statement) =>
    query.includes('multiIf(name =') ? 'names' : query.includes('arraySum') ? 'near' : 'words';
  const isOf = {
    names: (place: number) => place < 3,
    words: (place: number) => place === 3,
    near: (place: number) => place > 3,
  };
  const store: NameStore = {
    async candidates(statement) {
      const tier = tierOf(statement);
      asked[tier] += 1;
      const limit = Number(/LIMIT (\d+)$/.exec(statement.query)![1]);
      const after = /\) > \((.*?)\)/.exec(statement.query)?.[1]?.split(', ').map(Number) ?? [-1];
      const rest = all.filter(({ rank }) => isOf[tier](rank.place) && isAfter(rank, after));
      return rest.slice(0, limit);
    },
    completions: async () => ({ words: ['ACME'], more: false }),
    nearWords: async () => [...near],
    counts: async () => ({ names: 1, companies: 1 }),
  };
  return { store, asked };
}

function isAfter({ place, standing, mismatch, length, ruc }: Rank, after: readonly number[]): boolean {
  const key = [place, standing, mismatch, length, Number(ruc)];
  const at = key.findIndex((part, index) => part !== after[index]);
  return at >= 0 && key[at]! > (after[at] ?? -1);
}

const query = searchQuery.parse({ q: 'acme' });
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);

describe('a page', () => {
  test('ends the search with the tier that fills it, and says where it goes on', async () => {
    for (const number of range(0, 30)) stored(number);
    const { store, asked } = storeOf(range(0, 30).map((number) => candidate(number, number < 12 ? 2 : 3)));
    const find = makeFindCompanies({ names: store, taxpayers });
    const first = await find(query, 10, null);
    expect(first.hits.map(({ company }) => company.ruc)).toEqual(range(0, 10).map((number) => rucOf(number)));
    expect(first.next?.ruc).toBe(rucOf(9));
    expect(asked).toEqual({ names: 1, words: 0, near: 0 });
    const second = await find(query, 10, first.next);
    expect(second.hits.map(({ company }) => company.ruc)).toEqual(range(10, 20).map((number) => rucOf(number)));
    const third = await find(query, 10, second.next);
    expect(third).toMatchObject({ next: null, hits: { length: 10 } });
    expect(asked.near).toBe(0);
  });

  test('is filled up with guesses only where everything before is less than one', async () => {
    const near = [{ term: 0, word: 'ACNE', edits: 1 }];
    for (const [known, expected] of [
      [9, 1],
      [10, 0],
      [14, 0],
    ] as const) {
      const { store, asked } = storeOf([...range(0, known).map((n) => candidate(n, 3)), candidate(29, 4)], near);
      const find = makeFindCompanies({ names: store, taxpayers });
      let { next, hits } = await find(query, 10, null);
      expect(hits.filter(({ rank }) => rank.place > 3)).toHaveLength(expected);
      while (next !== null) ({ next, hits } = await find(query, 10, next));
      expect(asked.near).toBe(expected);
    }
  });

  test('goes on into the guesses where they began', async () => {
    const near = [{ term: 0, word: 'ACNE', edits: 1 }];
    const { store } = storeOf([candidate(0, 3), ...range(1, 8).map((n) => candidate(n, 4))], near);
    const find = makeFindCompanies({ names: store, taxpayers });
    const first = await find(query, 5, null);
    const second = await find(query, 5, first.next);
    expect([...first.hits, ...second.hits].map(({ company }) => company.ruc)).toEqual(range(0, 8).map((n) => rucOf(n)));
    expect(second.next).toBeNull();
  });
});

describe('what the state does not confirm', () => {
  test('is not shown: superseded rows, deleted companies, other names; the company stands once, at its own place', async () => {
    stored(1, { estado: 'BAJA DE OFICIO' });
    stored(2, { isDeleted: true });
    stored(3, { cells: ['OTRA SAC', 'ACTIVO', 'HABIDO', '150101'] });
    stored(4);
    const list = [candidate(1, 2), candidate(2, 2), candidate(3, 2), candidate(4, 2), candidate(4, 2), candidate(5, 2)];
    list.push(candidate(1, 2, 'BAJA DE OFICIO'));
    state.delete(rucOf(5));
    const find = makeFindCompanies({ names: storeOf(list).store, taxpayers });
    const { hits, next } = await find(query, 10, null);
    expect(hits.map(({ company, rank }) => [company.ruc, rank.standing])).toEqual([
      [rucOf(4), 0],
      [rucOf(1), 2],
    ]);
    expect(next).toBeNull();
  });

  test('makes a page short rather than the work long, and the next page goes on', async () => {
    for (const number of range(0, 100)) state.delete(rucOf(number));
    stored(99);
    const { store, asked } = storeOf(range(0, 100).map((number) => candidate(number, 2)));
    const find = makeFindCompanies({ names: store, taxpayers });
    const first = await find(query, 10, null);
    expect(first.hits).toEqual([]);
    expect(asked.names).toBe(3);
    let { next } = first;
    const found: string[] = [];
    while (next !== null) {
      const page = await find(query, 10, next);
      found.push(...page.hits.map(({ company }) => company.ruc));
      ({ next } = page);
    }
    expect(found).toEqual([rucOf(99)]);
  });
});
