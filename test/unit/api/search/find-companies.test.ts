import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StoredRow } from '../../../../api/queries/look-up.ts';
import { type CurrentRows, makeFindCompanies } from '../../../../api/search/find-companies.ts';
import type { NearWords, Tier } from '../../../../api/search/question.ts';
import { compareRanks } from '../../../../api/search/rank.ts';
import type { Candidate, NameStore } from '../../../../api/search/store.ts';
import { searchQuery } from '../../../../schemas/http/search.ts';
import { rucOf } from '../../../support/registers/companies.ts';

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
    rank,
  };
}

const isOf: Record<Tier, (place: number) => boolean> = {
  any: (place) => place <= 3,
  name: (place) => place < 3,
  words: (place) => place === 3,
  near: (place) => place > 3 && place < 7,
  same: (place) => place < 2,
  fewer: (place) => place === 7,
};

const none: Record<Tier, number> = { any: 0, name: 0, words: 0, near: 0, same: 0, fewer: 0 };

interface Words {
  near: NearWords[];
  /** Whether the completions are incomplete. */
  more: boolean;
  known: boolean;
  /** The same for each term, where they differ. */
  knownTerms: boolean[] | null;
  /** Number of names that begin with the word; null for as many as the list has. */
  names: number | null;
}

/** Rows that one read of the tier `any` returns. */
const windowRows = 20;

/** Answers each tier from a list as ClickHouse would, and counts the queries. */
function storeOf(all: readonly Candidate[], words: Partial<Words> = {}) {
  const { near = [], more = false, known = true, knownTerms = null, names = null } = words;
  const dropped: (readonly number[])[] = [];
  const asked = { ...none };
  const store: NameStore = {
    async candidates({ tier, after, limit, dropped: some }) {
      asked[tier] += 1;
      if (tier === 'fewer') dropped.push(some);
      const rest = all
        .filter(({ rank }) => isOf[tier](rank.place) && (after === null || compareRanks(rank, after) > 0))
        .concat(tier === 'near' && after === null ? all.filter(({ rank }) => rank.place <= 3).map(asGuess) : []);
      const byStanding = (one: Candidate, other: Candidate) =>
        compareRanks({ ...one.rank, place: 0 }, { ...other.rank, place: 0 });
      const inOrder = (one: Candidate, other: Candidate) => compareRanks(one.rank, other.rank);
      const given = rest.toSorted(tier === 'any' ? byStanding : inOrder).slice(0, tier === 'any' ? windowRows : limit);
      return { candidates: given.toSorted(inOrder), isWhole: given.length === rest.length };
    },
    words: async () => ({
      known: () => knownTerms ?? [known],
      completions: () => ({ words: ['ACME'], more }),
      beginnings: () => {
        const begun = names ?? all.filter(({ rank }) => rank.place < 3).length;
        return { words: begun > 0 ? ['ACME'] : [], names: begun, more: false };
      },
      nearWords: () => near,
    }),
    counts: async () => ({ names: 1, companies: 1 }),
  };
  return { store, asked, dropped };
}

/** On the first page, names with all the words are among the guesses. */
function asGuess(given: Candidate): Candidate {
  return { ...given, rank: { ...given.rank, place: 4 } };
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
    expect(asked).toEqual({ ...none, any: 1, name: 1 });
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
      const { store, asked } = storeOf([...range(0, known).map((n) => candidate(n, 3)), candidate(29, 4)], { near });
      const find = makeFindCompanies({ names: store, taxpayers });
      let { next, hits } = await find(query, 10, null);
      expect(hits.filter(({ rank }) => rank.place > 3)).toHaveLength(expected);
      while (next !== null) ({ next, hits } = await find(query, 10, next));
      expect(asked.near).toBe(expected);
    }
  });

  test('has no guesses when a name equals the query, unless the state does not confirm that name', async () => {
    const near = [{ term: 0, word: 'ACNE', edits: 1 }];
    for (const number of range(0, 4)) stored(number);
    const list = [candidate(0, 1), candidate(1, 3), candidate(2, 4)];
    const { store, asked } = storeOf(list, { near });
    const find = makeFindCompanies({ names: store, taxpayers });
    expect((await find(query, 10, null)).hits.map(({ rank }) => rank.place)).toEqual([1, 3]);
    expect(asked.near).toBe(0);
    stored(0, { isDeleted: true });
    expect((await find(query, 10, null)).hits.map(({ rank }) => rank.place)).toEqual([3, 4]);
    expect(asked.near).toBe(1);
  });

  test('asks once where few names have the words, whatever their tier', async () => {
    for (const number of range(0, 9)) stored(number);
    const { store, asked } = storeOf([candidate(0, 0), candidate(1, 2), ...range(2, 9).map((n) => candidate(n, 3))]);
    const { hits } = await makeFindCompanies({ names: store, taxpayers })(query, 10, null);
    expect(hits.map(({ company }) => company.ruc)).toEqual(range(0, 9).map((n) => rucOf(n)));
    expect(asked).toEqual({ ...none, any: 1 });
  });

  test('asks for names only where many begin so, for words only where none does', async () => {
    for (const number of range(0, 40)) stored(number);
    const begun = range(0, 40).map((number) => candidate(number, 2));
    const { store, asked } = storeOf(begun);
    expect((await makeFindCompanies({ names: store, taxpayers })(query, 10, null)).hits).toHaveLength(10);
    expect(asked).toEqual({ ...none, name: 1 });
    const within = range(0, 40).map((number) => candidate(number, 3));
    const others = storeOf(within, { more: true });
    expect((await makeFindCompanies({ names: others.store, taxpayers })(query, 10, null)).hits).toHaveLength(10);
    expect(others.asked).toEqual({ ...none, words: 1 });
  });

  test('asks for no name with a word that none has, only for guesses', async () => {
    const near = [{ term: 0, word: 'ACNE', edits: 1 }];
    for (const [words, expected] of [
      [[], 0],
      [near, 1],
    ] as const) {
      const { store, asked } = storeOf([candidate(0, 4)], { near: [...words], known: false });
      expect((await makeFindCompanies({ names: store, taxpayers })(query, 10, null)).hits).toHaveLength(expected);
      expect(asked).toEqual({ ...none, near: expected, same: 1 - expected });
    }
  });

  test('is made of names without one of the words where nothing else is found, and goes on among them', async () => {
    for (const number of range(0, 6)) stored(number);
    const list = range(0, 6).map((number) => candidate(number, 7));
    for (const [q, knownTerms, expected] of [
      ['acme sur', [true, true], [0, 1]],
      ['acme sur', [false, true], [0]],
      // What remains must say something.
      ['acme x', [true, true], [1]],
      ['uno dos tres cuatro cinco seis siete', Array(7).fill(true), range(0, 6)],
    ] as const) {
      const { store, asked, dropped } = storeOf(list, { knownTerms: [...knownTerms] });
      const find = makeFindCompanies({ names: store, taxpayers });
      const first = await find(searchQuery.parse({ q }), 4, null);
      expect(first.hits.map(({ rank }) => rank.place)).toEqual([7, 7, 7, 7]);
      const second = await find(searchQuery.parse({ q }), 4, first.next);
      expect(second).toMatchObject({ hits: { length: 2 }, next: null });
      expect(dropped).toEqual([expected, expected]);
      expect(asked.same).toBe(1);
    }
    for (const knownTerms of [[false, false], [true]]) {
      const { store, asked } = storeOf(list, { knownTerms });
      const q = knownTerms.length === 1 ? 'acme' : 'acme sur';
      expect((await makeFindCompanies({ names: store, taxpayers })(searchQuery.parse({ q }), 4, null)).hits).toEqual(
        [],
      );
      expect(asked.fewer).toBe(0);
    }
  });

  test('and the pages after it make one list, whatever the standings', async () => {
    const places = fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.boolean()), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(places, fc.integer({ min: 1, max: 12 }), fc.boolean(), async (drawn, limite, more) => {
        const list = drawn.map(([place, isActive], number) => {
          const estado = isActive ? 'ACTIVO' : 'BAJA DE OFICIO';
          stored(number, { estado });
          return candidate(number, place, estado);
        });
        const sorted = list.toSorted((one, other) => compareRanks(one.rank, other.rank)).map(({ rank }) => rank);
        const certain = sorted.filter(({ place }) => place <= 3);
        const near = [{ term: 0, word: 'ACNE', edits: 1 }];
        const find = makeFindCompanies({ names: storeOf(list, { near, more }).store, taxpayers });
        let { hits, next } = await find(query, limite, null);
        const found = [...hits];
        while (next !== null) {
          ({ hits, next } = await find(query, limite, next));
          found.push(...hits);
        }
        const isGuessed = certain.length < limite && !certain.some(({ place }) => place < 2);
        expect(found.map(({ rank }) => rank)).toEqual(isGuessed ? sorted : certain);
      }),
    );
  });

  test('goes on into the guesses where they began', async () => {
    const near = [{ term: 0, word: 'ACNE', edits: 1 }];
    for (const number of range(0, 8)) stored(number);
    const { store } = storeOf([candidate(0, 3), ...range(1, 8).map((n) => candidate(n, 4))], { near });
    const find = makeFindCompanies({ names: store, taxpayers });
    const first = await find(query, 5, null);
    const second = await find(query, 5, first.next);
    expect([...first.hits, ...second.hits].map(({ company }) => company.ruc)).toEqual(range(0, 8).map((n) => rucOf(n)));
    expect(second.next).toBeNull();
  });
});

describe('what the state does not confirm', () => {
  test('is not shown for superseded rows, deleted companies and other names; the company appears once, in its own place', async () => {
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
    const { store, asked } = storeOf(
      range(0, 100).map((number) => candidate(number, 2)),
      { more: true },
    );
    const find = makeFindCompanies({ names: store, taxpayers });
    const first = await find(query, 10, null);
    expect(first.hits).toEqual([]);
    expect(asked).toEqual({ ...none, name: 3 });
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
