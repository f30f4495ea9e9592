import { type RegisterName, registers } from '../../../schemas/registers.ts';
import { CompareError } from '../errors.ts';
import type { Cells, SmallState } from './state.ts';
import { readState } from './state-file.ts';

interface NextEdition {
  register: RegisterName;
  workDir: string;
  base: { edition: number; changeFileSha256: string };
  /** base.edition + 1. */
  edition: number;
}

/**
 * The state of the register's head, whatever parser read it.
 * @throws CompareError `index_missing`, `index_damaged`: rebuild it
 */
export function openBase({ register, workDir, base, edition }: NextEdition): SmallState {
  const state = readState(workDir, register, base.changeFileSha256);
  if (state.edition !== base.edition || edition !== base.edition + 1) {
    const found = `The state in WORK_DIR is of edition ${state.edition}`;
    throw new CompareError('index_damaged', `${found}, the base is ${base.edition} and the new edition ${edition}.`);
  }
  return state;
}

/** @throws CompareError `parser_changed` unless the state was read as this program reads */
export function requireSameParser(register: RegisterName, { parserVersion, columns }: SmallState): void {
  if (parserVersion === registers[register].parserVersion && columns.join() === columnsOf(register).join()) return;
  throw new CompareError('parser_changed', 'The base was read by another parser or with other columns.');
}

export function columnsOf(register: RegisterName): string[] {
  return registers[register].columns.map(({ name }) => name);
}

/** The state's rows in today's columns; a column that it did not know is empty. */
export function inTodaysColumns(register: RegisterName, { columns, rows }: SmallState): ReadonlyMap<string, Cells> {
  const places = columnsOf(register).map((name) => columns.indexOf(name));
  const row = (cells: Cells) => places.map((place) => cells[place] ?? '');
  return new Map([...rows].map(([key, cells]) => [key, row(cells)]));
}
