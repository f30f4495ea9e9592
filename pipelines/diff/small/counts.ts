import { idKindOf, isCompany } from '../../../schemas/ruc.ts';
import type { CompareResult, KindCounts } from '../types.ts';
import type { Cells, SmallChange } from './state.ts';

type Counted = Pick<
  CompareResult,
  | 'inserted'
  | 'updated'
  | 'deleted'
  | 'baseline'
  | 'changedByColumn'
  | 'changedByKind'
  | 'emptyByColumn'
  | 'rowsByKind'
  | 'stateRows'
  | 'kept'
  | 'unchanged'
>;

export interface CountedEdition {
  columns: readonly string[];
  changes: readonly SmallChange[];
  /** Rows of the new state. */
  rows: ReadonlyMap<string, Cells>;
  kept: number;
  /** True when every row is among the changes. */
  isFull: boolean;
  /** For each column, whether its differences are counted. Without this field, all columns are counted. */
  compared?: readonly boolean[];
}

const outcomes = { r: 'baseline', c: 'inserted', u: 'updated', d: 'deleted' } as const;

/** Counts an edition's rows and changes, also by kind of taxpayer, because the gates judge each kind separately. */
export function countsOf({ columns, changes, rows, kept, isFull, compared }: CountedEdition): Counted {
  const kinds = { company: newCounts(columns), other: newCounts(columns) };
  for (const { op, key, before, after } of changes) {
    const counts = kinds[kindOf(key)];
    counts[outcomes[op]] += 1;
    if (before === null || after === null) continue;
    for (const [column, name] of columns.entries()) {
      if (compared?.[column] !== false && before[column] !== after[column]) counts.changedByColumn[name]! += 1;
    }
  }
  for (const key of rows.keys()) kinds[kindOf(key)].rows += 1;
  const { company, other } = kinds;
  const both = (name: string) => company.changedByColumn[name]! + other.changedByColumn[name]!;
  const total = (outcome: 'baseline' | 'inserted' | 'updated' | 'deleted') => company[outcome] + other[outcome];
  const written = total('baseline') + total('inserted') + total('updated');
  return {
    baseline: total('baseline'),
    inserted: total('inserted'),
    updated: total('updated'),
    deleted: total('deleted'),
    kept,
    unchanged: rows.size - written - (isFull ? 0 : kept),
    changedByColumn: Object.fromEntries(columns.map((name) => [name, both(name)])),
    changedByKind: kinds,
    emptyByColumn: emptyByColumn(columns, rows),
    rowsByKind: rowsByKind(rows.keys()),
    stateRows: rows.size,
  };
}

function newCounts(columns: readonly string[]): KindCounts {
  const changedByColumn = Object.fromEntries(columns.map((name) => [name, 0]));
  return { rows: 0, baseline: 0, inserted: 0, updated: 0, deleted: 0, changedByColumn };
}

function kindOf(key: string): 'company' | 'other' {
  return isCompany(key) && idKindOf(key) === 'ruc' ? 'company' : 'other';
}

function emptyByColumn(columns: readonly string[], rows: ReadonlyMap<string, Cells>): Record<string, number> {
  const counts = columns.map(() => 0);
  for (const cells of rows.values()) {
    for (const [column, cell] of cells.entries()) if (cell === '') counts[column]! += 1;
  }
  return Object.fromEntries(columns.map((name, column) => [name, counts[column]!]));
}

/**
 * Counts rows by the first two digits of a RUC, or by the kind of any other id. The result is sorted, so that equal
 * states give equal results.
 */
function rowsByKind(keys: Iterable<string>): Record<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) {
    const idKind = idKindOf(key);
    const kind = idKind === 'ruc' ? key.slice(0, 2) : idKind;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].sort(([one], [other]) => (one < other ? -1 : 1)));
}
