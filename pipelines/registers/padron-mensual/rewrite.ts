import { cellsPerRow, periodOf, readHeader } from './header.ts';
import { characterLength, windows1252Of } from './utf8.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const pipe = 0x7c;
const periodBytes = 6;
/** A longer line is no row. It passes in pieces, so that memory stays bounded. */
const maxLineBytes = 64 * 1024;

/** What a byte does to a line. */
const Does = { stand: 0, closeCell: 1, endLine: 2, spoil: 3, decode: 4 } as const;

/**
 * The form that the scanner reads, one line for each line: a row's cells closed by pipes, its period left out, Windows-1252,
 * LF. The header and every line that is no row of this file (cells, period, a pipe inside a cell) come through as they are,
 * which the scanner then rejects. Any cut into chunks gives the same bytes; memory is that of some chunks.
 */
export async function* rewriteLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const text = new MonthlyText();
  let kept: Buffer = Buffer.alloc(0);
  let overlong = false;
  for await (const chunk of chunks) {
    let piece = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
    if (overlong) {
      const end = piece.indexOf(lineFeed) + 1;
      yield end === 0 ? piece : piece.subarray(0, end);
      overlong = end === 0;
      piece = end === 0 ? piece.subarray(piece.length) : piece.subarray(end);
    }
    const limit = piece.lastIndexOf(lineFeed) + 1;
    if (limit > 0) yield text.rewrite(piece.subarray(0, limit));
    kept = piece.subarray(limit);
    if (kept.length <= maxLineBytes) continue;
    text.headerIsOverlong();
    yield kept;
    kept = kept.subarray(kept.length);
    overlong = true;
  }
  // A last line without line end counts.
  if (kept.length > 0) yield text.rewrite(Buffer.concat([kept, Buffer.of(lineFeed)]));
}

/** What a file turned out to be, and its lines rewritten. */
class MonthlyText {
  /** Null before the header; without a known header there is nothing to rewrite. */
  #header: ReturnType<typeof readHeader> | null = null;
  /** That of the first row. */
  #period: Buffer | null = null;
  #encodingKnown = false;
  readonly #does = new Uint8Array(256);

  headerIsOverlong(): void {
    this.#header ??= { problem: 'the first line is too long' };
  }

  /** Whole lines, each with its line end. */
  rewrite(lines: Buffer): Buffer {
    let from = 0;
    if (this.#header === null) {
      from = lines.indexOf(lineFeed) + 1;
      if (from > maxLineBytes) this.headerIsOverlong();
      else this.#readHeader(lines.subarray(0, endWithoutReturn(lines, 0, from - 1)));
    }
    if (this.#header === null || 'problem' in this.#header) return lines;
    // A spoilt line may become one byte longer, and has at least sixteen then.
    const out = Buffer.allocUnsafeSlow(lines.length + (lines.length >> 4));
    lines.copy(out, 0, 0, from);
    return out.subarray(0, this.#rewriteRows(lines, from, out, from));
  }

  #readHeader(line: Buffer): void {
    this.#header = readHeader(line);
    if ('problem' in this.#header) return;
    const does = this.#does;
    // How the first of these reads decides for the whole file; Windows-1252 then needs no look at them at all.
    does.fill(Does.decode, 0x80);
    does[pipe] = Does.spoil;
    does[lineFeed] = Does.endLine;
    does[this.#header.delimiter.charCodeAt(0)] = Does.closeCell;
  }

  /** Writes the lines of `bytes` from `from` on to `out` from `to` on; returns where it stopped writing. */
  #rewriteRows(bytes: Buffer, from: number, out: Buffer, to: number): number {
    const does = this.#does;
    let written = to;
    for (let start = from; start < bytes.length; ) {
      let at = start;
      let end = written;
      let cells = 0;
      let lastCell = start;
      let rowEnd = written;
      let spoilt = false;
      for (let byte = bytes[at]!; ; byte = bytes[at]!) {
        const what = does[byte]!;
        if (what === Does.stand) {
          out[end++] = byte;
          at += 1;
        } else if (what === Does.closeCell) {
          out[end++] = pipe;
          at += 1;
          cells += 1;
          lastCell = at;
          rowEnd = end;
        } else if (what === Does.endLine) break;
        else if (what === Does.decode) {
          const length = this.#lengthOfCharacter(bytes, start, at);
          out[end++] = length === 0 ? byte : windows1252Of(bytes, at, length);
          at += length === 0 ? 1 : length;
        } else {
          spoilt = true;
          at += 1;
        }
      }
      const isRow = !spoilt && cells === cellsPerRow && at - start <= maxLineBytes;
      if (isRow && this.#isOfPeriod(bytes, start, lastCell, at)) {
        out[rowEnd] = lineFeed;
        written = rowEnd + 1;
      } else written = copySpoilt(bytes, start, at, out, written);
      start = at + 1;
    }
    return written;
  }

  /**
   * Bytes of the character here, 0 for one byte of Windows-1252. The first byte past ASCII decides: in Windows-1252 a letter
   * with an accent is followed by what continues no UTF-8 character. In a UTF-8 file a byte that is none is taken as
   * Windows-1252: less is lost, if that byte was the exception or if the first one was.
   */
  #lengthOfCharacter(bytes: Buffer, start: number, at: number): number {
    const length = characterLength(bytes, at);
    if (!this.#encodingKnown) {
      // A line that passes in pieces would not have been looked at: nor may it decide where it comes whole.
      if (bytes.indexOf(lineFeed, at) - start > maxLineBytes) return 0;
      this.#encodingKnown = true;
      if (length === 0) this.#does.fill(Does.stand, 0x80);
    }
    return length;
  }

  #isOfPeriod(bytes: Buffer, start: number, lastCell: number, lineEnd: number): boolean {
    const end = endWithoutReturn(bytes, start, lineEnd);
    if (this.#period === null) {
      const delimiter = this.#does[pipe] === Does.closeCell ? '|' : ',';
      const period = periodOf(bytes.subarray(start, end), delimiter);
      if (period === null) return false;
      this.#period = Buffer.from(period, 'latin1');
      return true;
    }
    if (end - lastCell !== periodBytes) return false;
    for (let digit = 0; digit < periodBytes; digit += 1) {
      if (bytes[lastCell + digit] !== this.#period[digit]) return false;
    }
    return true;
  }
}

/** `end` is the line feed's place. */
function endWithoutReturn(bytes: Buffer, start: number, end: number): number {
  return end > start && bytes[end - 1] === carriageReturn ? end - 1 : end;
}

/** A line as it is. One that reads like a finished row without its period would be taken for one: a pipe more keeps it out. */
function copySpoilt(bytes: Buffer, start: number, lineFeedAt: number, out: Buffer, to: number): number {
  const end = endWithoutReturn(bytes, start, lineFeedAt);
  let written = to + bytes.copy(out, to, start, end);
  if (isClosedRow(bytes, start, end)) out[written++] = pipe;
  written += bytes.copy(out, written, end, lineFeedAt + 1);
  return written;
}

function isClosedRow(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[end - 1] !== pipe || end - start > maxLineBytes) return false;
  let pipes = 0;
  for (let at = start; at < end; at += 1) if (bytes[at] === pipe) pipes += 1;
  return pipes === cellsPerRow;
}
