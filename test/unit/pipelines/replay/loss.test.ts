import { describe, expect, test } from 'vitest';
import { type CatalogueEdition, lossOf, type StoredCounts } from '../../../../pipelines/replay/loss.ts';

const register = 'padron_reducido';

function edition(number: number, changes: number, rows: number, more: Partial<CatalogueEdition> = {}) {
  const baseline = number === 1 ? changes : 0;
  return { register, number, changes, baseline, rows, companies: rows, isMaterialised: true, ...more } as const;
}

// 100 rows; then 10 change; then 4 change, of which 2 had changed before, and one row disappears.
const editions = [edition(1, 100, 100), edition(2, 10, 100), edition(3, 5, 99)];
const names = { companies: 99, unknownWords: 0 };

function stored(more: Partial<StoredCounts> = {}): StoredCounts {
  return {
    state: new Map([
      [1, { keys: 87, live: 87 }],
      [2, { keys: 8, live: 8 }],
      [3, { keys: 5, live: 4 }],
    ]),
    history: new Map([
      [2, 10],
      [3, 5],
    ]),
    changed: new Map([
      [2, 8],
      [3, 5],
    ]),
    ...more,
  };
}

const lossOfState = (counts: readonly (readonly [number, number, number])[], after = editions) =>
  lossOf(
    register,
    editions,
    after,
    stored({ state: new Map(counts.map(([number, keys, live]) => [number, { keys, live }])) }),
    names,
  );

test('nothing is lost when the counts are those of the catalogue', () => {
  expect(lossOf(register, editions, editions, stored(), names)).toBeNull();
  // A replay inserts rows of the history again, until ClickHouse merges them.
  const history = new Map([
    [2, 20],
    [3, 5],
  ]);
  expect(lossOf(register, editions, editions, stored({ history }), names)).toBeNull();
});

test('a register without a complete edition serves nothing, so it can lose nothing', () => {
  const first = [edition(1, 100, 100, { isMaterialised: false })];
  const nothing = { state: new Map(), history: new Map(), changed: new Map() };
  expect(lossOf(register, [], [], nothing, null)).toBeNull();
  expect(lossOf(register, first, first, nothing, names)).toBeNull();
});

describe('a loss of the state', () => {
  test.each([
    [
      'rows of the first edition',
      [
        [1, 80, 80],
        [2, 8, 8],
        [3, 5, 4],
      ],
      7,
    ],
    [
      'rows of an edition in between, whose keys show the first edition again',
      [
        [1, 95, 95],
        [3, 5, 4],
      ],
      8,
    ],
    [
      'the row that says that a key disappeared',
      [
        [1, 88, 88],
        [2, 8, 8],
        [3, 4, 4],
      ],
      1,
    ],
  ] as const)('%s', (_, counts, rows) => {
    expect(lossOfState(counts)).toBe(
      `clickhouse_lost: of padron_reducido, ClickHouse lacks at least ${rows} rows of the state: ` +
        'run `npx padron rebuild --register padron_reducido`',
    );
  });

  test('all rows of the newest edition, which an older copy lacks', () => {
    expect(
      lossOfState([
        [1, 90, 90],
        [2, 10, 10],
      ]),
    ).toBe(
      'clickhouse_behind: ClickHouse ends at edition 2 of padron_reducido, and the catalogue serves 3: ' +
        'run `npx padron rebuild --register padron_reducido`',
    );
  });

  test('no row is expected of a newest edition without changes', () => {
    const quiet = [...editions, edition(4, 0, 99)];
    expect(lossOf(register, quiet, quiet, stored(), names)).toBeNull();
  });
});

describe('a later edition', () => {
  const written = [...editions, edition(4, 6, 98, { isMaterialised: false })];

  test('may have replaced as many rows as it has changes, and not more', () => {
    expect(
      lossOfState(
        [
          [1, 84, 84],
          [2, 7, 7],
          [3, 4, 3],
          [4, 5, 4],
        ],
        written,
      ),
    ).toBeNull();
    expect(
      lossOfState(
        [
          [1, 74, 74],
          [2, 8, 8],
          [3, 5, 4],
          [4, 5, 4],
        ],
        written,
      ),
    ).toContain('at least 3 rows');
  });

  test('that the catalogue does not have is no loss: PostgreSQL was restored', () => {
    expect(
      lossOfState([
        [1, 1, 1],
        [4, 5, 5],
      ]),
    ).toBeNull();
  });
});

test('a loss of the history, by edition and whatever the state has', () => {
  const history = new Map([[3, 5]]);
  const found = lossOf(register, editions, editions, stored({ history, changed: history }), names);
  expect(found).toContain('lacks at least 10 rows of the history: run');
});

test('a loss of names; one in a hundred may have none, and a catalogue without the number of companies says nothing', () => {
  const found = (companies: number, unknownWords = 0, all = editions) =>
    lossOf(register, all, all, stored(), { companies, unknownWords });
  expect(found(98)).toBeNull();
  expect(found(90)).toContain('lacks at least 8 names of companies: run');
  expect(found(98, 3)).toContain('lacks at least 3 words of names: run');
  expect(found(0, 0, [...editions.slice(0, 2), edition(3, 5, 99, { companies: null })])).toBeNull();
});
