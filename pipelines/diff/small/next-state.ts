import { type RegisterName, registers } from '../../../schemas/registers.ts';
import { CompareError, readingPrevious } from '../../changes/errors.ts';
import type { SmallText } from '../../registers/module.ts';
import { registerModules } from '../../registers/modules.ts';
import { readPublication } from '../publication.ts';
import type { CompareInput } from '../types.ts';
import type { PublicationLimits } from '../zip.ts';
import { readOverlay } from './outputs.ts';
import { type Cells, columnsOf, inOrder, type OverlayRow, type SmallChange, sameCells } from './state.ts';

interface KeepingRules {
  /** True when several lines make one row, so that a bad line leaves its row incomplete. */
  severalLinesPerRow: boolean;
  /** For each column, whether an empty cell of a known row keeps its value. */
  keepsPrevious: readonly boolean[];
}

/** The state after a publication. */
export interface NextState {
  rows: Map<string, { cells: Cells; line: number | null }>;
  overlay: OverlayRow[];
  /** Rows that stay because their lines cannot be read. */
  kept: number;
  /** Rows in which an empty cell kept its value. */
  keptCells: number;
}

/**
 * Makes the next state from a publication's rows and the known rows that it must not end or empty. A bad line that
 * names a known key keeps that row as it is. A kept row is listed and harmless, but a false end would be sent to
 * customers, and a supplier whose bar stands in the unreadable line would look free of it.
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

/**
 * The found cells, with previous values where an empty cell keeps them. Returns `cells` itself when nothing is kept.
 */
function filled(cells: Cells, before: Cells, keepsPrevious: readonly boolean[]): Cells {
  const keeps = (cell: string, column: number) =>
    cell === '' && keepsPrevious[column] === true && before[column] !== '';
  return cells.some(keeps) ? cells.map((cell, column) => (keeps(cell, column) ? before[column]! : cell)) : cells;
}

/** The differences between the base and the next state, in the order of keys. `base` is null for a first edition. */
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

/** The head's publication as today's parser reads it. */
interface PreviousReading {
  rows: ReadonlyMap<string, Cells>;
  /** For each column, whether the head had it. */
  known: readonly boolean[];
}

/**
 * The changes of a re-baseline, which name every row. A row is `u` only where one parser reads two different values in
 * a column that the head had, `c` only where its key is really new, and `r`, which is no event, otherwise. `base` has
 * the head's rows in today's columns; those that the next state lacks end.
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

/**
 * A row stands twice in a Kafka record (8 MB at most), and once in ClickHouse as JSON (2 MB at most, up to three bytes
 * a character). A row that did not fit there would block every later edition. The longest real row, of a supplier with
 * many sanctions, has some 60,000 characters.
 */
const maxRowCharacters = 512 * 1024;

/**
 * Reads a small register's publication whole.
 * @throws CompareError the publication's faults; `empty` when no line is a row, `text_invalid` for a row that is too
 *   long
 */
export async function readText(register: RegisterName, path: string, limits: PublicationLimits): Promise<SmallText> {
  const { source, format } = registerModules[register];
  if (format.size !== 'small') throw new Error(`${register} is a large register: another engine compares it`);
  const text = format.read(await readPublication(path, source.container, limits));
  if (text.rows.size === 0) throw new CompareError('empty', 'No line of the publication is a row.');
  for (const { cells, line } of text.rows.values()) {
    if (cells.reduce((sum, cell) => sum + cell.length, 0) <= maxRowCharacters) continue;
    const what = `the row at line ${line} has more than ${maxRowCharacters} characters`;
    throw new CompareError('text_invalid', `The text of the publication is not the register's: ${what}.`);
  }
  return text;
}

/**
 * Reads the head's publication with today's parser and lays the head's overlay over it. Columns that the head did not
 * have come from the publication.
 * @throws CompareError `previous_unreadable`; `change_file_damaged` (the overlay)
 */
export async function readPrevious(
  register: RegisterName,
  { publicationPath, overlayPath, knownColumns }: NonNullable<CompareInput['previous']>,
  limits: PublicationLimits,
): Promise<PreviousReading> {
  const text = await readingPrevious(() => readText(register, publicationPath, limits));
  const columns = columnsOf(register);
  const known = columns.map((name) => knownColumns.includes(name));
  const rows = new Map<string, Cells>([...text.rows].map(([key, { cells }]) => [key, cells]));
  for (const { ruc, row } of await readOverlay(overlayPath)) {
    const read = rows.get(ruc);
    if (row === null) rows.delete(ruc);
    else
      rows.set(
        ruc,
        columns.map((name, column) => (known[column] ? row[name] : undefined) ?? read?.[column] ?? ''),
      );
  }
  return { rows, known };
}

export function keepingRules(register: RegisterName): KeepingRules {
  const { key, columns } = registers[register];
  return {
    severalLinesPerRow: key === 'supplier',
    keepsPrevious: columns.map((column) => column.keepsPrevious === true),
  };
}
