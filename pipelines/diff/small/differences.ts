import type { NextState } from './next-state.ts';
import { type Cells, inOrder, type SmallChange, sameCells } from './state.ts';

/** What differs between the base (null: there is none yet) and the next state, in the order of keys. */
export function differences(base: ReadonlyMap<string, Cells> | null, next: NextState['rows']): SmallChange[] {
  const changes: SmallChange[] = [];
  for (const key of inOrder(base?.keys() ?? [], next.keys())) {
    const before = base?.get(key) ?? null;
    const { cells: after = null, line = null } = next.get(key) ?? {};
    if (before !== null && after !== null && sameCells(before, after)) continue;
    const op = base === null ? 'r' : before === null ? 'c' : after === null ? 'd' : 'u';
    changes.push({ op, key, before, after, line });
  }
  return changes;
}

/** The base's publication as today's parser reads it, and what of its columns the head knew. */
export interface PreviousReading {
  rows: ReadonlyMap<string, Cells>;
  /** By column. */
  known: readonly boolean[];
}

/**
 * Every row of the next state after the parser or the columns changed: `u` only where a column that the head knew differs under
 * one and the same parser, `c` for keys that are really new, `r` (silent) for all others. `base` has the head's rows in
 * today's columns; a row of it that neither reading has any more ends.
 */
export function rebaseline(
  base: ReadonlyMap<string, Cells>,
  previous: PreviousReading,
  next: NextState['rows'],
): SmallChange[] {
  const differs = (before: Cells, after: Cells) =>
    previous.known.some((known, column) => known && before[column] !== after[column]);
  const changes: SmallChange[] = [];
  for (const key of inOrder(base.keys(), next.keys())) {
    const read = previous.rows.get(key) ?? null;
    const served = base.get(key) ?? null;
    const found = next.get(key);
    if (found === undefined) {
      changes.push({ op: 'd', key, before: read ?? served, after: null, line: null });
      continue;
    }
    const { cells: after, line } = found;
    if (served !== null && read !== null && differs(read, after)) {
      changes.push({ op: 'u', key, before: read, after, line });
    } else changes.push({ op: served === null && read === null ? 'c' : 'r', key, before: null, after, line });
  }
  return changes;
}
