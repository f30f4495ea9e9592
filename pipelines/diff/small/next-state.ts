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
interface PreviousReading {
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

/**
 * A row goes twice into a record of Kafka (8 MB at most) and as JSON, which makes at most three bytes of a character, into
 * ClickHouse (2 MB at most): there one that does not fit would stand in the way of every later edition. The longest real one,
 * of a supplier with many sanctions, has some 60,000.
 */
const maxRowCharacters = 512 * 1024;

/**
 * A small register's publication, read whole.
 * @throws CompareError the publication's faults; `empty` when no line of it is a row, `text_invalid` for a row that is too long
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
 * What the head would be had today's parser read it: its publication, and over it the rows in which the state differs from
 * that. Of an overlay's row, columns that the head did not know come from the publication.
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
