import type { Conflict } from '../types.ts';
import { type Cells, type OverlayRow, type SmallChange, sameCells } from './state.ts';

/**
 * Undoes an edition's changes (which come in the order of keys) on the rows of the head: where the row is what the edition
 * gave, it becomes what it was before; else undoing the edition would undo something later, and the row stays.
 */
export function undo(
  head: ReadonlyMap<string, Cells>,
  edition: readonly SmallChange[],
): { changes: SmallChange[]; conflicts: Pick<Conflict, 'ruc' | 'reason'>[] } {
  const changes: SmallChange[] = [];
  const conflicts: Pick<Conflict, 'ruc' | 'reason'>[] = [];
  for (const { key, before: restored, after: given } of edition) {
    const current = head.get(key) ?? null;
    if (given === null ? current !== null : current === null || !sameCells(current, given)) {
      conflicts.push({ ruc: key, reason: given === null ? 'came_back' : current === null ? 'gone' : 'changed_again' });
      continue;
    }
    const op = current === null ? 'c' : restored === null ? 'd' : 'u';
    changes.push({ op, key, before: current, after: restored, line: null });
  }
  return { changes, conflicts };
}

/** The head's overlay carried on: what the correction rewrites stands in it as it is now. */
export function correctedOverlay(head: readonly OverlayRow[], changes: readonly SmallChange[]): OverlayRow[] {
  const rows = new Map(head.map((row) => [row.key, row]));
  for (const { key, after } of changes) rows.set(key, { key, reason: 'correction', line: null, row: after });
  return [...rows.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
}
