import { type RegisterName, registers } from '../../../schemas/registers.ts';
import type { SmallText } from '../../registers/module.ts';
import { registerModules } from '../../registers/modules.ts';
import { CompareError, readingPrevious } from '../errors.ts';
import { readPublication } from '../publication.ts';
import type { PublicationLimits } from '../published-text.ts';
import type { CompareInput } from '../types.ts';
import { columnsOf } from './base.ts';
import type { PreviousReading } from './differences.ts';
import type { KeepingRules } from './next-state.ts';
import { readOverlay } from './records.ts';
import type { Cells } from './state.ts';

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
