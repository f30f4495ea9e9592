import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import type { RegisterName } from '../../../schemas/registers.ts';
import { CompareError } from '../errors.ts';
import { attemptName, workFileName, writeWhole } from '../work-files.ts';
import type { Cells, SmallState } from './state.ts';

/** First line of a state file; one line per row follows, `[key, cell, …]` in the order of keys. */
const headerSchema = z.object({
  register: z.string(),
  edition: z.number().int().positive(),
  changeFileSha256: z.string(),
  parserVersion: z.number().int(),
  columns: z.array(z.string()),
  rows: z.number().int(),
  /** CRC-32 of all bytes after this line. */
  crc32: z.number().int(),
});
const rowSchema = z.tuple([z.string()], z.string());

/** Makes a state durable in WORK_DIR under its change file's hash. It can be rebuilt; the same state gives the same bytes. */
export function writeState(workDir: string, register: RegisterName, state: SmallState): void {
  const { edition, changeFileSha256, parserVersion, columns, rows } = state;
  const lines = [...rows]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map((row) => `${JSON.stringify(row.flat())}\n`);
  const body = Buffer.from(lines.join(''), 'utf8');
  const header = { register, edition, changeFileSha256, parserVersion, columns, rows: rows.size, crc32: crc32(body) };
  const attempt = attemptName(register, randomUUID(), 'rows');
  const name = workFileName(register, changeFileSha256, 'rows');
  writeWhole(workDir, attempt, name, [`${JSON.stringify(header)}\n`, body]);
}

/** @throws CompareError `index_missing`, `index_damaged`: rebuild it */
export function readState(workDir: string, register: RegisterName, changeFileSha256: string): SmallState {
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
