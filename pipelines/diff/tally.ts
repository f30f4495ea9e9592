import { rucPrefixes } from '../../schemas/ruc.ts';
import type { IndexHeader } from './index-header.ts';
import type { KindCounts } from './types.ts';

const outcomes = ['baseline', 'inserted', 'updated', 'deleted'] as const;
export type Outcome = (typeof outcomes)[number];
type Kind = 'company' | 'other';

const keysPerPrefix = 100_000_000;
const kindOfPrefix = (prefix: string): Kind => (prefix === '20' ? 'company' : 'other');

/**
 * Counts of one comparison, by kind of taxpayer: gates judge companies apart from natural persons. Kept as plain numbers
 * by prefix, since a first edition counts every row of the register.
 */
export class Tally {
  readonly #columns: readonly string[];
  /** Rows of the base by prefix; null for a full edition, which is counted from nothing. */
  readonly #baseRows: Record<string, number> | null;
  /** By prefix, then outcome. */
  readonly #counts = new Float64Array(rucPrefixes.length * outcomes.length);
  readonly #changed: Record<Kind, Float64Array>;
  kept = 0;
  keptCells = 0;

  constructor(columns: readonly string[], base: IndexHeader | null) {
    this.#columns = columns;
    this.#baseRows = base?.rowsByKind ?? null;
    this.#changed = { company: new Float64Array(columns.length), other: new Float64Array(columns.length) };
  }

  /** `changedColumns` is of an update: bit c for column c. */
  count(key: number, what: Outcome, changedColumns: number): void {
    const prefix = Math.floor(key / keysPerPrefix);
    this.#counts[prefix * outcomes.length + outcomes.indexOf(what)]! += 1;
    if (changedColumns === 0) return;
    const changed = this.#changed[kindOfPrefix(rucPrefixes[prefix]!)];
    for (let column = 0; column < changed.length; column += 1) changed[column]! += (changedColumns >>> column) & 1;
  }

  total(what: Outcome): number {
    return rucPrefixes.reduce((sum, prefix) => sum + this.#count(prefix, what), 0);
  }

  get byKind(): { company: KindCounts; other: KindCounts } {
    return { company: this.#ofKind('company'), other: this.#ofKind('other') };
  }

  get changedByColumn(): Record<string, number> {
    const { company, other } = this.#changed;
    return this.#byColumn((column) => company[column]! + other[column]!);
  }

  /** In the order of the prefixes, so that equal states give equal bytes. */
  get rowsByKind(): Record<string, number> {
    const kinds = rucPrefixes.map((prefix) => [prefix, this.#rows(prefix)] as const);
    return Object.fromEntries(kinds.filter(([, rows]) => rows > 0));
  }

  #ofKind(kind: Kind): KindCounts {
    const prefixes = rucPrefixes.filter((prefix) => kindOfPrefix(prefix) === kind);
    const sum = (of: (prefix: string) => number) => prefixes.reduce((total, prefix) => total + of(prefix), 0);
    const [baseline, inserted, updated, deleted] = outcomes.map((what) => sum((prefix) => this.#count(prefix, what)));
    return {
      rows: sum((prefix) => this.#rows(prefix)),
      baseline: baseline!,
      inserted: inserted!,
      updated: updated!,
      deleted: deleted!,
      changedByColumn: this.#byColumn((column) => this.#changed[kind][column]!),
    };
  }

  #rows(prefix: string): number {
    const added = this.#count(prefix, 'baseline') + this.#count(prefix, 'inserted');
    if (this.#baseRows === null) return added + this.#count(prefix, 'updated');
    return (this.#baseRows[prefix] ?? 0) + added - this.#count(prefix, 'deleted');
  }

  #count(prefix: string, what: Outcome): number {
    const at = (rucPrefixes as readonly string[]).indexOf(prefix) * outcomes.length + outcomes.indexOf(what);
    return this.#counts[at]!;
  }

  #byColumn(of: (column: number) => number): Record<string, number> {
    return Object.fromEntries(this.#columns.map((name, column) => [name, of(column)]));
  }
}
