import { isUtf8 } from 'node:buffer';
import type { RegisterName } from '../../schemas/registers.ts';
import { rucLength } from '../../schemas/ruc.ts';
import { registerModules } from '../registers/modules.ts';
import { decodeWindows1252 } from '../registers/windows-1252.ts';
import { openPublication } from './publication.ts';
import { compareLimits } from './types.ts';

// Finds lines of a publication as they were published. A zip can only be inflated from its beginning, so a search reads
// up to the last line that it needs, and stops there.

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const [digitZero, digitNine] = [0x30, 0x39];

interface SearchOptions {
  /** Whether the publication has repeated lines. Then the last line of a key is its row, and the whole text is read. */
  isLast: boolean;
  signal: AbortSignal;
  /** Is given the part of the text that was read, from 0 to 1, after each piece. */
  report?: (part: number) => void;
}

/**
 * Finds the line of a key (a RUC, or a supplier's id). A line that begins with the key counts before one that only has
 * it. It looks for the key's bytes in whole pieces, which costs a tenth of inflating them.
 * @returns null when no line has the key
 * @throws CompareError when the publication cannot be read; the signal's reason when aborted
 */
export async function findRawLine(
  register: RegisterName,
  path: string,
  key: string,
  options: SearchOptions,
): Promise<string | null> {
  const search = new LineSearch(key, options.isLast);
  await read(register, path, search, options);
  return search.found;
}

/**
 * Finds the lines that begin with one of these RUCs, in one reading. Looking at every line costs more than looking for
 * one RUC, and less than a second reading.
 * @returns lines by RUC. A RUC without a line is missing.
 */
export async function findRawLines(
  register: RegisterName,
  path: string,
  rucs: readonly string[],
  options: SearchOptions,
): Promise<Map<string, string>> {
  const search = new LinesSearch(rucs, options.isLast);
  await read(register, path, search, options);
  return search.found;
}

interface Search {
  /** Returns true when nothing later is needed. */
  add(piece: Buffer): boolean;
  /** Searches the last line, which may have no line end. */
  end(): void;
}

async function read(
  register: RegisterName,
  path: string,
  search: Search,
  { signal, report }: SearchOptions,
): Promise<void> {
  const text = await openPublication(path, registerModules[register].source.container, compareLimits);
  let bytes = 0;
  for await (const piece of text.chunks()) {
    signal.throwIfAborted();
    if (search.add(piece)) return;
    bytes += piece.length;
    report?.(bytes / text.textBytes);
  }
  search.end();
}

/** Cuts pieces of a text into parts of whole lines. A line may begin in one piece and end in the next. */
class WholeLines {
  /** The bytes after the last line end so far. */
  #rest: Buffer = Buffer.alloc(0);

  of(piece: Buffer): Buffer[] {
    const first = piece.indexOf(lineFeed);
    if (first < 0) {
      this.#rest = Buffer.concat([this.#rest, piece]);
      return [];
    }
    const last = piece.lastIndexOf(lineFeed);
    const seam = Buffer.concat([this.#rest, piece.subarray(0, first + 1)]);
    // Only the bytes of unfinished lines are copied.
    this.#rest = Buffer.from(piece.subarray(last + 1));
    return [seam, piece.subarray(first + 1, last + 1)];
  }

  get rest(): Buffer {
    return this.#rest;
  }
}

export class LineSearch implements Search {
  readonly #lines = new WholeLines();
  readonly #key: Buffer;
  readonly #isLast: boolean;
  #leading: string | null = null;
  #other: string | null = null;

  constructor(key: string, isLast: boolean) {
    this.#key = Buffer.from(key, 'latin1');
    this.#isLast = isLast;
  }

  get found(): string | null {
    return this.#leading ?? this.#other;
  }

  add(piece: Buffer): boolean {
    for (const part of this.#lines.of(piece)) if (!this.#isDone) this.#searchIn(part);
    return this.#isDone;
  }

  end(): void {
    if (!this.#isDone) this.#searchIn(this.#lines.rest);
  }

  get #isDone(): boolean {
    return this.#leading !== null && !this.#isLast;
  }

  #searchIn(bytes: Buffer): void {
    for (let at = bytes.indexOf(this.#key); at >= 0; at = bytes.indexOf(this.#key, at + 1)) {
      const after = at + this.#key.length;
      if (isDigit(bytes[at - 1]) || isDigit(bytes[after])) continue;
      if (at === 0 || bytes[at - 1] === lineFeed) {
        this.#leading = lineAt(bytes, at);
        if (!this.#isLast) return;
      } else if (this.#isLast || this.#other === null) this.#other = lineAt(bytes, at);
    }
  }
}

export class LinesSearch implements Search {
  readonly found = new Map<string, string>();
  readonly #lines = new WholeLines();
  /** RUCs by their numbers, since no text is made of a line that nobody wants. */
  readonly #wanted: ReadonlyMap<number, string>;
  readonly #isLast: boolean;

  constructor(rucs: readonly string[], isLast: boolean) {
    this.#wanted = new Map(rucs.map((ruc) => [Number(ruc), ruc]));
    this.#isLast = isLast;
  }

  add(piece: Buffer): boolean {
    for (const part of this.#lines.of(piece)) this.#searchIn(part);
    return !this.#isLast && this.found.size === this.#wanted.size;
  }

  end(): void {
    this.#searchIn(this.#lines.rest);
  }

  #searchIn(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const ruc = this.#wanted.get(numberAt(bytes, at));
      if (ruc !== undefined && (this.#isLast || !this.found.has(ruc))) this.found.set(ruc, lineAt(bytes, at));
      const next = bytes.indexOf(lineFeed, at);
      at = next < 0 ? bytes.length : next + 1;
    }
  }
}

/** Returns the eleven digits at a line's beginning as a number, or -1 where there are fewer or more. */
function numberAt(bytes: Buffer, start: number): number {
  let value = 0;
  for (let at = start; at < start + rucLength; at += 1) {
    const byte = bytes[at];
    if (byte === undefined || byte < digitZero || byte > digitNine) return -1;
    value = value * 10 + byte - digitZero;
  }
  return isDigit(bytes[start + rucLength]) ? -1 : value;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= digitZero && byte <= digitNine;
}

/** Registers are written in Windows-1252 but for one. A text with accents is hardly ever both. */
function lineAt(bytes: Buffer, at: number): string {
  const start = bytes.lastIndexOf(lineFeed, at) + 1;
  const next = bytes.indexOf(lineFeed, at);
  let end = next < 0 ? bytes.length : next;
  if (bytes[end - 1] === carriageReturn) end -= 1;
  const line = bytes.subarray(start, end);
  return isUtf8(line) ? line.toString('utf8') : decodeWindows1252(bytes, start, end);
}
