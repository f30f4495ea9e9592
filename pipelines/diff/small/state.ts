import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import type { RegisterName } from '../../../schemas/registers.ts';
import { CompareError } from '../../changes/errors.ts';
import type { Operation } from '../../changes/record-bytes.ts';
import type { OverlayReason } from '../../changes/schema.ts';
import { columnsOf, requireBase, type StateFacts } from '../edition.ts';
import { attemptName, sweepWorkFiles, workFileName, writeWhole } from '../work-files.ts';

/** A row's cells without its key, in the order of the columns. */
export type Cells = readonly string[];

/** A register's rows at one edition, all in memory. */
export interface SmallState extends StateFacts {
  /** Rows by key, which is a RUC or a supplier's id. */
  rows: ReadonlyMap<string, Cells>;
}

/** A difference between two states. `line` is the row's line number in the publication, or null if it has none. */
export interface SmallChange {
  op: Operation;
  key: string;
  before: Cells | null;
  after: Cells | null;
  line: number | null;
}

export interface OverlayRow {
  key: string;
  reason: OverlayReason;
  line: number | null;
  /** Null when the publication has the key and the state does not. */
  row: Cells | null;
}

/**
 * Returns the distinct keys in the order of their UTF-8 bytes, which every file uses. `sort` compares UTF-16 units.
 * Both orders are equal, because no key has a character above U+FFFF.
 */
export function inOrder(...keys: readonly Iterable<string>[]): string[] {
  return [...new Set(keys.flatMap((some) => [...some]))].sort();
}

export function sameCells(one: Cells, other: Cells): boolean {
  return one.length === other.length && one.every((cell, column) => cell === other[column]);
}

/**
 * Reads the state of the register's head, whichever parser version made it.
 * @throws CompareError `index_missing` or `index_damaged` when the state must be rebuilt
 */
export function openBase(
  input: { register: RegisterName; workDir: string; edition: number },
  base: { edition: number; changeFileSha256: string },
): SmallState {
  const state = readState(input.workDir, input.register, base.changeFileSha256);
  requireBase(state, base, input.edition);
  return state;
}

/** The state's rows in today's columns. A column that the state does not have is empty. */
export function inTodaysColumns(register: RegisterName, { columns, rows }: SmallState): ReadonlyMap<string, Cells> {
  const places = columnsOf(register).map((name) => columns.indexOf(name));
  const row = (cells: Cells) => places.map((place) => cells[place] ?? '');
  return new Map([...rows].map(([key, cells]) => [key, row(cells)]));
}

/**
 * Makes the new state durable in WORK_DIR and removes all states except the new one and its base. The base stays: if an
 * operator refuses this edition, the next comparison starts from the base. If the process dies before the new state is
 * durable, a repeat makes everything again.
 */
export function finishState(workDir: string, register: RegisterName, state: SmallState, baseSha256: string): void {
  writeState(workDir, register, state);
  const names = [state.changeFileSha256, baseSha256].map((sha256) => workFileName(register, sha256, 'rows'));
  sweepWorkFiles(workDir, register, new Set(names));
}

/** The first line of a state file. Then each row is one line, `[key, cell, …]`, in the order of keys. */
const headerSchema = z.object({
  register: z.string(),
  edition: z.number().int().positive(),
  changeFileSha256: z.string(),
  parserVersion: z.number().int(),
  columns: z.array(z.string()),
  rows: z.number().int(),
  /** CRC-32 of all bytes after the first line. */
  crc32: z.number().int(),
});
const rowSchema = z.tuple([z.string()], z.string());

/** Makes a state durable in WORK_DIR, under a name with its change file's hash. The same state gives the same bytes. */
function writeState(workDir: string, register: RegisterName, state: SmallState): void {
  const { edition, changeFileSha256, parserVersion, columns, rows } = state;
  const lines = [...rows]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map((row) => `${JSON.stringify(row.flat())}\n`);
  const body = Buffer.from(lines.join(''), 'utf8');
  const header = { register, edition, changeFileSha256, parserVersion, columns, rows: rows.size, crc32: crc32(body) };
  const name = workFileName(register, changeFileSha256, 'rows');
  writeWhole(workDir, attemptName(register, 'rows'), name, [`${JSON.stringify(header)}\n`, body]);
}

/** @throws CompareError `index_missing` or `index_damaged` when the state must be rebuilt */
function readState(workDir: string, register: RegisterName, changeFileSha256: string): SmallState {
  const bytes = bytesOf(join(workDir, workFileName(register, changeFileSha256, 'rows')));
  const end = bytes.indexOf(0x0a) + 1;
  const header = headerSchema.safeParse(jsonOf(bytes.subarray(0, end)));
  if (!header.success || header.data.crc32 !== crc32(bytes.subarray(end))) throw damaged('does not match its checksum');
  const { edition, parserVersion, columns } = header.data;
  if (header.data.register !== register || header.data.changeFileSha256 !== changeFileSha256) {
    throw damaged('is that of another edition');
  }
  const lines = bytes.toString('utf8', end).split('\n').slice(0, -1);
  const rows = new Map<string, Cells>();
  for (const line of lines) {
    const [key, ...cells] = rowSchema.parse(JSON.parse(line));
    rows.set(key, cells);
  }
  return { edition, changeFileSha256, parserVersion, columns, rows };
}

function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new CompareError('index_missing', "The base's state is not in WORK_DIR: rebuild it.");
  }
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
}

function damaged(why: string): CompareError {
  return new CompareError('index_damaged', `The base's state in WORK_DIR ${why}: rebuild it.`);
}
