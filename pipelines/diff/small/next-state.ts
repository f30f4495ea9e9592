import type { SmallText } from '../../registers/module.ts';
import { type Cells, inOrder, type OverlayRow } from './state.ts';

export interface KeepingRules {
  /** One row is made of several lines, so a bad one leaves it incomplete. */
  severalLinesPerRow: boolean;
  /** By column: an empty cell of a known row keeps its value. */
  keepsPrevious: readonly boolean[];
}

/** What a publication makes of the rows known before it. */
export interface NextState {
  rows: Map<string, { cells: Cells; line: number | null }>;
  overlay: OverlayRow[];
  /** Rows that stay because the lines about them cannot be read. */
  kept: number;
  /** Rows of which an empty cell kept its value. */
  keptCells: number;
}

/**
 * The state after a publication: its rows, and those known rows that it must not end or empty. A bad line that names a known key
 * keeps that row as it is: a kept row is listed and harmless, a false end is a notice to a customer, and a supplier whose
 * bar stands in the unreadable line would look free of it.
 */
export function nextState(known: ReadonlyMap<string, Cells> | null, text: SmallText, rules: KeepingRules): NextState {
  const bad = new Set(text.listed.map(({ key }) => key).filter((key) => key !== null));
  const next: NextState = { rows: new Map(), overlay: [], kept: 0, keptCells: 0 };
  for (const key of inOrder(text.rows.keys(), bad)) {
    const before = known?.get(key);
    const found = text.rows.get(key);
    if (before !== undefined && bad.has(key) && (found === undefined || rules.severalLinesPerRow)) {
      next.rows.set(key, { cells: before, line: null });
      next.overlay.push({ key, reason: 'bad_line', line: null, row: before });
      next.kept += 1;
    } else if (found !== undefined) {
      const cells = before === undefined ? found.cells : filled(found.cells, before, rules.keepsPrevious);
      next.rows.set(key, { cells, line: found.line });
      if (cells === found.cells) continue;
      next.overlay.push({ key, reason: 'empty_cell', line: found.line, row: cells });
      next.keptCells += 1;
    }
  }
  return next;
}

/** The same cells when nothing had to be kept. */
function filled(cells: Cells, before: Cells, keepsPrevious: readonly boolean[]): Cells {
  const keeps = (cell: string, column: number) =>
    cell === '' && keepsPrevious[column] === true && before[column] !== '';
  return cells.some(keeps) ? cells.map((cell, column) => (keeps(cell, column) ? before[column]! : cell)) : cells;
}
