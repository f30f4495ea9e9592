import { isUtf8 } from 'node:buffer';
import type { RegisterName } from '../../schemas/registers.ts';
import { registerModules } from '../registers/modules.ts';
import { decodeWindows1252 } from '../registers/windows-1252.ts';
import { openPublication } from './publication.ts';
import { compareLimits } from './types.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const [digitZero, digitNine] = [0x30, 0x39];

/**
 * Finds the line of a key (a RUC, or a supplier's id) in a publication, as it was published. A zip can only be inflated
 * from its beginning, so the search reads up to the line and stops there. It looks for the key's bytes in whole pieces,
 * which costs less than inflating them. A line that begins with the key counts before one that only has it.
 * @param isLast whether the publication has repeated lines. Then the last line of the key is its row, and the whole
 *   text is read.
 * @returns null when no line has the key
 * @throws CompareError when the publication cannot be read; the signal's reason when aborted
 */
export async function findRawLine(
  register: RegisterName,
  path: string,
  key: string,
  { isLast, signal }: { isLast: boolean; signal: AbortSignal },
): Promise<string | null> {
  const text = await openPublication(path, registerModules[register].source.container, compareLimits);
  const search = new LineSearch(key, isLast);
  for await (const piece of text.chunks()) {
    signal.throwIfAborted();
    if (search.add(piece)) break;
  }
  search.end();
  return search.found;
}

/** Takes the pieces of a text one after the other. A line may begin in one piece and end in the next. */
export class LineSearch {
  readonly #key: Buffer;
  readonly #isLast: boolean;
  /** The bytes after the last line end so far. */
  #rest: Buffer = Buffer.alloc(0);
  #leading: string | null = null;
  #other: string | null = null;

  constructor(key: string, isLast: boolean) {
    this.#key = Buffer.from(key, 'latin1');
    this.#isLast = isLast;
  }

  get found(): string | null {
    return this.#leading ?? this.#other;
  }

  /** Returns true when the line is found and nothing later could be it. */
  add(piece: Buffer): boolean {
    const first = piece.indexOf(lineFeed);
    if (first < 0) {
      this.#rest = Buffer.concat([this.#rest, piece]);
      return false;
    }
    this.#searchIn(Buffer.concat([this.#rest, piece.subarray(0, first + 1)]));
    const last = piece.lastIndexOf(lineFeed);
    // Only the bytes of unfinished lines are copied.
    this.#rest = Buffer.from(piece.subarray(last + 1));
    if (!this.#isDone) this.#searchIn(piece.subarray(first + 1, last + 1));
    return this.#isDone;
  }

  /** Searches the last line, which may have no line end. */
  end(): void {
    if (!this.#isDone) this.#searchIn(this.#rest);
    this.#rest = Buffer.alloc(0);
  }

  get #isDone(): boolean {
    return this.#leading !== null && !this.#isLast;
  }

  /** @param bytes whole lines */
  #searchIn(bytes: Buffer): void {
    for (let at = bytes.indexOf(this.#key); at >= 0; at = bytes.indexOf(this.#key, at + 1)) {
      const after = at + this.#key.length;
      if (isDigit(bytes[at - 1]) || isDigit(bytes[after])) continue;
      if (at === 0 || bytes[at - 1] === lineFeed) {
        this.#leading = lineAt(bytes, at);
        if (!this.#isLast) return;
      } else this.#other = this.#isLast || this.#other === null ? lineAt(bytes, at) : this.#other;
    }
  }
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
