import type { Operation } from '../schema.ts';

/** A row's cells after its key, in the order of the columns. */
export type Cells = readonly string[];

/** A register as of one edition, whole in memory. */
export interface SmallState {
  edition: number;
  changeFileSha256: string;
  parserVersion: number;
  columns: readonly string[];
  /** By key: a RUC, or a supplier's id. */
  rows: ReadonlyMap<string, Cells>;
}

/** One difference between two states; `line` of the publication, null where no line says it. */
export interface SmallChange {
  op: Operation;
  key: string;
  before: Cells | null;
  after: Cells | null;
  line: number | null;
}

export interface OverlayRow {
  key: string;
  reason: 'bad_line' | 'empty_cell' | 'correction';
  line: number | null;
  /** Null: the publication has the key, the state has not. */
  row: Cells | null;
}

/** Keys in the order of every file: that of their bytes, since no character of theirs lies beyond the basic plane. */
export function inOrder(...keys: readonly Iterable<string>[]): string[] {
  return [...new Set(keys.flatMap((some) => [...some]))].sort();
}

export function sameCells(one: Cells, other: Cells): boolean {
  return one.length === other.length && one.every((cell, column) => cell === other[column]);
}
