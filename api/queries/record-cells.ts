import { type RegisterName, registers } from '../../schemas/registers.ts';

/**
 * A row's cells in the order of the register's columns of today, whichever columns stood when it was written: by their names. A
 * column that the row does not have, or that was not known on the day that is asked for, is empty: what is not known is not told.
 */
export function cellsByName(
  register: RegisterName,
  cells: readonly string[],
  written: readonly string[],
  known: readonly string[] = written,
): readonly string[] {
  const { columns } = registers[register];
  if (columns.every(({ name }, at) => written[at] === name && (known === written || known[at] === name))) return cells;
  return columns.map(({ name }) => (known.includes(name) ? (cells[written.indexOf(name)] ?? '') : ''));
}
