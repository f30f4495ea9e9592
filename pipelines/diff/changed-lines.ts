import { readdirSync, rmSync } from 'node:fs';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openChangeFile, recordsOf } from '../changes/change-file.ts';
import { baseline } from '../changes/record-bytes.ts';
import { findRawLines } from './raw-line.ts';
import type { KeepLinesInput } from './types.ts';
import { attemptName, sweepWorkFiles, writeWhole } from './work-files.ts';

// Keeps the lines of all companies that an edition changed, in a file of WORK_DIR that can be made again. A zip can only
// be inflated from its beginning, so two publications of 18 million rows take seconds to search. The changed lines of a
// day are some megabytes.

/** A company's lines as published. Null: no line of the publication begins with its RUC, or there is no publication. */
export interface ChangedLines {
  before: string | null;
  after: string | null;
}

/** Number of files that are kept. A day's file of the largest register has some 8 MB. */
const maxFiles = 30;

/**
 * Reads both publications once and writes the lines. If the process dies, there is no file, and the next call makes it.
 * @throws CompareError when a file cannot be read; the signal's reason when aborted
 */
export async function keepChangedLines(
  { register, changeFile, before, after, folder, name }: KeepLinesInput,
  report: (part: number) => void,
  signal: AbortSignal,
): Promise<{ companies: number; bytes: number }> {
  const rucs = await changedCompanies(changeFile, signal);
  const reporter = new PartOfBoth(report);
  const linesOf = async (text: KeepLinesInput['before'], side: 0 | 1) =>
    text === null
      ? new Map<string, string>()
      : await findRawLines(register, text.path, rucs, {
          isLast: text.isLast,
          signal,
          report: (part) => reporter.add(side, part),
        });
  const [linesBefore, linesAfter] = await Promise.all([linesOf(before, 0), linesOf(after, 1)]);
  await mkdir(folder, { recursive: true });
  const pieces = function* () {
    for (const ruc of rucs) {
      const entry = { ruc, before: linesBefore.get(ruc) ?? null, after: linesAfter.get(ruc) ?? null };
      yield `${JSON.stringify(entry)}\n`;
    }
  };
  const bytes = writeWhole(folder, attemptName(register, 'lines'), name, buffered(pieces()));
  sweepWorkFiles(folder, register, null);
  await removeOldest(folder);
  return { companies: rucs.length, bytes };
}

/** Returns a company's lines, `undefined` when the edition did not change it, or null when there is no such file. */
export async function readChangedLines(
  folder: string,
  name: string,
  ruc: string,
): Promise<ChangedLines | undefined | null> {
  let bytes: Buffer;
  try {
    bytes = await readFile(join(folder, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  // A quote inside a line is written with a backslash, so this stands at an entry's beginning only.
  const at = bytes.indexOf(`{"ruc":"${ruc}"`);
  if (at < 0) return undefined;
  const { before, after } = JSON.parse(bytes.toString('utf8', at, bytes.indexOf('\n', at))) as ChangedLines;
  return { before, after };
}

async function changedCompanies(path: string, signal: AbortSignal): Promise<string[]> {
  const file = await openChangeFile(path);
  const rucs: string[] = [];
  try {
    for await (const block of file.blocks()) {
      signal.throwIfAborted();
      for (const record of recordsOf(block)) {
        if (record.op !== baseline && record.isOfCompany()) rucs.push(record.key());
      }
    }
  } finally {
    await file.close();
  }
  return rucs;
}

/** The part of two texts that was read. It is reported in steps of a hundredth. */
class PartOfBoth {
  readonly #report: (part: number) => void;
  readonly #parts: [number, number] = [0, 0];
  #reported = 0;

  constructor(report: (part: number) => void) {
    this.#report = report;
  }

  add(side: 0 | 1, part: number): void {
    this.#parts[side] = part;
    const both = Math.floor((this.#parts[0] + this.#parts[1]) * 50) / 100;
    if (both <= this.#reported) return;
    this.#reported = both;
    this.#report(both);
  }
}

const pieceCharacters = 1 << 20;

/** Joins small texts to larger ones, since each piece is one write. */
function* buffered(texts: Iterable<string>): Generator<string> {
  let piece = '';
  for (const text of texts) {
    piece += text;
    if (piece.length < pieceCharacters) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

async function removeOldest(folder: string): Promise<void> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.lines') && !name.includes('.attempt-'));
  const files = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(folder, name))).mtimeMs })));
  files.sort((one, other) => other.at - one.at);
  for (const { name } of files.slice(maxFiles)) rmSync(join(folder, name), { force: true });
}
