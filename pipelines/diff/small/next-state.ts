import { type Column, type RegisterName, registers } from '../../../schemas/registers.ts';
import { CompareError, readingPrevious } from '../../changes/errors.ts';
import type { SmallText } from '../../registers/module.ts';
import { registerModules } from '../../registers/modules.ts';
import { columnsOf } from '../edition.ts';
import { readPublication } from '../publication.ts';
import type { CompareInput } from '../types.ts';
import type { PublicationLimits } from '../zip.ts';
import { readOverlay } from './outputs.ts';
import { type Cells, inOrder, type OverlayRow, type SmallChange, sameCells } from './state.ts';

/** The register's state after a publication, and how it differs from that publication. */
export interface NextState {
  rows: Map<string, { cells: Cells; line: number | null }>;
  overlay: OverlayRow[];
  /** Number of rows of the last edition that stay as they are, because their line in the publication is bad. */
  kept: number;
  /** Number of rows in which an empty cell kept its previous value. */
  keptCells: number;
}

/**
 * Makes the next state from a publication's rows and the known rows. If every line of a known key is bad, the known row
 * stays and goes into the overlay. Otherwise one bad line would end the row. Customers would be notified, and a barred
 * supplier would seem free.
 */
export function nextState(
  register: RegisterName,
  known: ReadonlyMap<string, Cells> | null,
  text: SmallText,
): NextState {
  const columns: readonly Column[] = registers[register].columns;
  // In the lists of barred suppliers, several lines make one row. One bad line is then enough to keep the known row.
  // Without that line, the new row would be incomplete.
  const hasSeveralLines = registers[register].key === 'supplier';
  const bad = new Set(text.listed.map(({ key }) => key).filter((key) => key !== null));
  const next: NextState = { rows: new Map(), overlay: [], kept: 0, keptCells: 0 };
  for (const key of inOrder(text.rows.keys(), bad)) {
    const before = known?.get(key);
    const found = text.rows.get(key);
    if (before !== undefined && bad.has(key) && (found === undefined || hasSeveralLines)) {
      next.rows.set(key, { cells: before, line: null });
      next.overlay.push({ key, reason: 'bad_line', line: null, row: before });
      next.kept += 1;
    } else if (found !== undefined) {
      const cells = before === undefined ? found.cells : filled(found.cells, before, columns);
      next.rows.set(key, { cells, line: found.line });
      if (cells === found.cells) continue;
      next.overlay.push({ key, reason: 'empty_cell', line: found.line, row: cells });
      next.keptCells += 1;
    }
  }
  return next;
}

/** Fills empty cells from `before` in columns with `keepsPrevious`. Returns `cells` itself when it fills no cell. */
function filled(cells: Cells, before: Cells, columns: readonly Column[]): Cells {
  const keeps = (cell: string, column: number) =>
    cell === '' && columns[column]!.keepsPrevious === true && before[column] !== '';
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

/** The head's publication as today's parser reads it, with the head's overlay applied. */
interface PreviousReading {
  rows: ReadonlyMap<string, Cells>;
  /** For each of today's columns, whether the head had it. */
  known: readonly boolean[];
}

/**
 * Makes the changes of a re-baseline: one for every key of the head and of the next state.
 * - `d`: the next state lacks the key.
 * - `c`: neither the head nor its publication (`previous`) has the key.
 * - `u`: the head and `previous` both have the key, and `previous` differs from `next` in a column that the head had.
 * - `r`, which makes no event: every other case.
 * @param base the head's rows in today's columns
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
 * Most characters that a row may have. An edition with a row that Kafka or ClickHouse refuses could never be finished,
 * and every later edition of the register would wait for it. A character takes at most 3 bytes in UTF-8:
 * - A Kafka record (at most 8 MB) contains a row twice, before and after the change: 2 × 512 Ki × 3 bytes = 3 MB.
 * - ClickHouse stores a row once as JSON (at most 2 MB): 512 Ki × 3 bytes = 1.5 MB.
 * The longest real row belongs to a supplier with many sanctions and has some 60,000 characters.
 */
const maxRowCharacters = 512 * 1024;

/**
 * Reads and parses a small register's whole publication.
 * @throws CompareError with the codes of `readPublication`; `header_changed`; `empty` when no line is a row;
 *   `text_invalid` for a row that is too long
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
 * Reads the head's publication with today's parser and applies the head's overlay to the rows. An overlay's row lacks
 * the columns that the head lacked. Their cells come from the publication.
 * @throws CompareError `previous_unreadable` when today's parser cannot read the publication
 * @throws CompareError `change_file_damaged` when the overlay is damaged
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
