import { firstCompanyKey, prefixOfKey } from '../registers/padron-reducido/format.ts';
import type { IndexHeader } from './index-header.ts';
import type { KindCounts } from './types.ts';

/** Counts of one comparison, by kind of taxpayer: gates judge companies apart from natural persons. */
export class Tally {
  readonly #columns: readonly string[];
  readonly #company: KindCounts;
  readonly #other: KindCounts;
  readonly #rowsByKind: Map<string, number>;
  kept = 0;
  keptCells = 0;
  unchanged = 0;

  constructor(columns: readonly string[], base: IndexHeader | null) {
    this.#columns = columns;
    this.#company = emptyCounts(columns);
    this.#other = emptyCounts(columns);
    this.#rowsByKind = new Map(Object.entries(base?.rowsByKind ?? {}));
    for (const [prefix, rows] of this.#rowsByKind) (prefix === '20' ? this.#company : this.#other).rows += rows;
  }

  count(key: number, what: 'baseline' | 'inserted' | 'updated' | 'deleted', changedColumns: number): void {
    const kind = key >= firstCompanyKey ? this.#company : this.#other;
    kind[what] += 1;
    if (what === 'updated') {
      for (const [column, name] of this.#columns.entries()) {
        if ((changedColumns >>> column) & 1) kind.changedByColumn[name]! += 1;
      }
      return;
    }
    const prefix = prefixOfKey(key);
    const more = what === 'deleted' ? -1 : 1;
    kind.rows += more;
    this.#rowsByKind.set(prefix, (this.#rowsByKind.get(prefix) ?? 0) + more);
  }

  total(what: 'baseline' | 'inserted' | 'updated' | 'deleted' | 'rows'): number {
    return this.#company[what] + this.#other[what];
  }

  get byKind(): { company: KindCounts; other: KindCounts } {
    return { company: this.#company, other: this.#other };
  }

  get changedByColumn(): Record<string, number> {
    const sum = (name: string) => this.#company.changedByColumn[name]! + this.#other.changedByColumn[name]!;
    return Object.fromEntries(this.#columns.map((name) => [name, sum(name)]));
  }

  /** In the order of the prefixes, so that equal states give equal bytes. */
  get rowsByKind(): Record<string, number> {
    const kinds = [...this.#rowsByKind].filter(([, rows]) => rows > 0);
    return Object.fromEntries(kinds.sort(([one], [other]) => (one < other ? -1 : 1)));
  }
}

function emptyCounts(columns: readonly string[]): KindCounts {
  const changedByColumn = Object.fromEntries(columns.map((name) => [name, 0]));
  return { rows: 0, baseline: 0, inserted: 0, updated: 0, deleted: 0, changedByColumn };
}
