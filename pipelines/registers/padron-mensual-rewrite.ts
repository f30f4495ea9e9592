import { codePointOf, unreadableByte } from './windows-1252.ts';

/**
 * The header line of the monthly open data. Each further line is a RUC with 16 cells, without quoting. The delimiter
 * (pipe or comma) and the encoding (Windows-1252 or UTF-8) change between months.
 */
export const columnNames = [
  'RUC',
  'Estado',
  'Condicion',
  'Tipo',
  'Actividad_Economica_CIIU_revision3_Principal',
  'Actividad_Economica_CIIU_revision3_Secundaria',
  'Actividad_Economica_CIIU_revision4_Principal',
  'NroTrab',
  'TipoFacturacion',
  'TipoContabilidad',
  'ComercioExterior',
  'UBIGEO',
  'Departamento',
  'Provincia',
  'Distrito',
  'PERIODO_PUBLICACION',
] as const;
/** Number of cells that are kept of a row. The last cell is left out, because it dates the whole file. */
export const cellsPerRow = columnNames.length - 1;

export type Delimiter = '|' | ',';
const byteOrderMark = /^\u00ef\u00bb\u00bf/;
const comparedNames = columnNames.map(comparedName);

/** Similar files had a space before a name, or other capitals. So the comparison of names ignores both. */
function comparedName(name: string): string {
  return name.trim().toLowerCase();
}

/** Returns the delimiter or a problem. The problem's text never quotes the line, which may be a person's row. */
export function readHeader(line: Uint8Array): { delimiter: Delimiter } | { problem: string } {
  const text = latin1(line).replace(byteOrderMark, '');
  if (/^\d{11}[|,]/.test(text)) return { problem: 'the first line is a row' };
  const delimiter = text.includes('|') ? '|' : ',';
  const found = text.split(delimiter).map(comparedName);
  if (found.length !== columnNames.length) {
    return { problem: `it has ${found.length} columns, expected ${columnNames.length}` };
  }
  const differs = comparedNames.findIndex((name, column) => found[column] !== name);
  return differs < 0 ? { delimiter } : { problem: `column ${differs + 1} is not called ${columnNames[differs]}` };
}

const period = /^\d{4}(0[1-9]|1[0-2])$/;

/** The period (AAAAMM) in the last cell of a complete row, else null. The first period found is that of the file. */
export function periodOf(line: Uint8Array, delimiter: Delimiter): string | null {
  const cells = latin1(line).split(delimiter);
  const last = cells.at(-1)!;
  const isRow = cells.length === columnNames.length && !cells.some((cell) => cell.includes('|'));
  return isRow && period.test(last) ? last : null;
}

function latin1(line: Uint8Array): string {
  return Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('latin1');
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const pipe = 0x7c;
const periodBytes = 6;
/** A longer line is never a row. It is passed on in pieces, so that memory stays bounded. */
const maxLineBytes = 64 * 1024;

const Meaning = { keep: 0, endCell: 1, endLine: 2, reject: 3, decode: 4 } as const;

/**
 * Rewrites the text, line by line, into the form that the scanner (pipelines/diff/large/pages.ts) reads.
 * - Cells end with a pipe, lines end with LF, and the encoding is Windows-1252. The period is left out.
 * - The header stays unchanged.
 * - A line that is not a row of this file (wrong cells, another period, a pipe inside a cell) stays unchanged. The
 *   scanner rejects the line.
 * The result does not depend on how the input is cut into chunks. Memory stays at a few chunks.
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
  // A last line without a line end is also a line.
  if (kept.length > 0) yield text.rewrite(Buffer.concat([kept, Buffer.of(lineFeed)]));
}

/** Finds a file's delimiter, encoding and period in its first lines, and rewrites the lines with them. */
class MonthlyText {
  /** Null until the header is read. Without a known header, no line is rewritten. */
  #header: ReturnType<typeof readHeader> | null = null;
  /** The period of the first row that has one. */
  #period: Buffer | null = null;
  #encodingKnown = false;
  readonly #meanings = new Uint8Array(256);

  headerIsOverlong(): void {
    this.#header ??= { problem: 'the first line is too long' };
  }

  /** @param lines whole lines, each with its line end */
  rewrite(lines: Buffer): Buffer {
    let from = 0;
    if (this.#header === null) {
      from = lines.indexOf(lineFeed) + 1;
      if (from > maxLineBytes) this.headerIsOverlong();
      else this.#readHeader(lines.subarray(0, endWithoutReturn(lines, 0, from - 1)));
    }
    if (this.#header === null || 'problem' in this.#header) return lines;
    // The output is at most a sixteenth longer than `lines`. Only a rejected line with `cellsPerRow` (15) pipes may
    // grow, by one more pipe (`copyRejected`). With its line end, such a line has at least sixteen bytes.
    const out = Buffer.allocUnsafeSlow(lines.length + (lines.length >> 4));
    lines.copy(out, 0, 0, from);
    return out.subarray(0, this.#rewriteRows(lines, from, out, from));
  }

  #readHeader(line: Buffer): void {
    this.#header = readHeader(line);
    if ('problem' in this.#header) return;
    const meanings = this.#meanings;
    // Decode every byte above 0x7f until the encoding is known. The first such byte decides the encoding of the file.
    // The output is Windows-1252. So in a Windows-1252 file every later byte is copied as it is.
    meanings.fill(Meaning.decode, 0x80);
    meanings[pipe] = Meaning.reject;
    meanings[lineFeed] = Meaning.endLine;
    meanings[this.#header.delimiter.charCodeAt(0)] = Meaning.endCell;
  }

  /** Rewrites lines: reads `bytes` from `from` on and writes `out` from `to` on. Returns the end of the output. */
  #rewriteRows(bytes: Buffer, from: number, out: Buffer, to: number): number {
    const meanings = this.#meanings;
    let written = to;
    for (let start = from; start < bytes.length; ) {
      let at = start;
      let end = written;
      let cells = 0;
      let lastCell = start;
      let rowEnd = written;
      let isRejected = false;
      for (let byte = bytes[at]!; ; byte = bytes[at]!) {
        const what = meanings[byte]!;
        if (what === Meaning.keep) {
          out[end++] = byte;
          at += 1;
        } else if (what === Meaning.endCell) {
          out[end++] = pipe;
          at += 1;
          cells += 1;
          lastCell = at;
          rowEnd = end;
        } else if (what === Meaning.endLine) break;
        else if (what === Meaning.decode) {
          const length = this.#lengthOfCharacter(bytes, start, at);
          out[end++] = length === 0 ? byte : windows1252Of(bytes, at, length);
          at += length === 0 ? 1 : length;
        } else {
          isRejected = true;
          at += 1;
        }
      }
      const isRow = !isRejected && cells === cellsPerRow && at - start <= maxLineBytes;
      if (isRow && this.#isOfPeriod(bytes, start, lastCell, at)) {
        out[rowEnd] = lineFeed;
        written = rowEnd + 1;
      } else written = copyRejected(bytes, start, at, out, written);
      start = at + 1;
    }
    return written;
  }

  /**
   * Returns the length in bytes of the UTF-8 character at `at`, or 0 when the byte is Windows-1252. The file counts as
   * UTF-8 if its first byte above 0x7f begins a UTF-8 character, because in a Windows-1252 text the byte after an
   * accented letter does not continue such a character. In a file that counts as UTF-8, a byte that is not UTF-8 is
   * still read as Windows-1252:
   * - If the file is UTF-8, only this byte is wrong.
   * - If the file is Windows-1252 after all, only the bytes that look like UTF-8 are misread.
   */
  #lengthOfCharacter(bytes: Buffer, start: number, at: number): number {
    const length = characterLength(bytes, at);
    if (!this.#encodingKnown) {
      // A line longer than `maxLineBytes` never decides the encoding. If such a line comes in several chunks,
      // `rewriteLines` does not examine it. If it decided when it comes in one chunk, the result would depend on how
      // the input is cut.
      if (bytes.indexOf(lineFeed, at) - start > maxLineBytes) return 0;
      this.#encodingKnown = true;
      if (length === 0) this.#meanings.fill(Meaning.keep, 0x80);
    }
    return length;
  }

  #isOfPeriod(bytes: Buffer, start: number, lastCell: number, lineEnd: number): boolean {
    const end = endWithoutReturn(bytes, start, lineEnd);
    if (this.#period === null) {
      const delimiter = this.#meanings[pipe] === Meaning.endCell ? '|' : ',';
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

function endWithoutReturn(bytes: Buffer, start: number, end: number): number {
  return end > start && bytes[end - 1] === carriageReturn ? end - 1 : end;
}

/**
 * Copies a line that is not a row, so that the scanner rejects it. If the line looks like a rewritten row, the scanner
 * would accept it, so one more pipe is added. Every other line is copied unchanged.
 */
function copyRejected(bytes: Buffer, start: number, lineFeedAt: number, out: Buffer, to: number): number {
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

/**
 * Returns the length in bytes of the UTF-8 character at `at`, or 0 when there is none. RFC 3629 forbids overlong forms
 * and surrogates. The last byte of `bytes` must be ASCII, such as a line feed. Otherwise reading would pass the end.
 */
function characterLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0xc2 || first > 0xf4) return 0;
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (let next = at + 1; next < at + length; next += 1) if ((bytes[next]! & 0xc0) !== 0x80) return 0;
  const second = bytes[at + 1]!;
  if (first === 0xe0 && second < 0xa0) return 0;
  if (first === 0xed && second > 0x9f) return 0;
  if (first === 0xf0 && second < 0x90) return 0;
  if (first === 0xf4 && second > 0x8f) return 0;
  return length;
}

const lastCodePoint = codePointOf.reduce((most, point) => (point === 0xfffd ? most : Math.max(most, point)), 0);
const byteOf = new Uint8Array(lastCodePoint + 1).fill(unreadableByte);
for (let byte = 0; byte < 256; byte += 1) if (codePointOf[byte] !== 0xfffd) byteOf[codePointOf[byte]!] = byte;

/** The Windows-1252 byte of the UTF-8 character at `at`; `unreadableByte` when Windows-1252 lacks that character. */
function windows1252Of(bytes: Uint8Array, at: number, length: number): number {
  if (length > 3) return unreadableByte;
  let point = bytes[at]! & (length === 2 ? 0x1f : 0x0f);
  for (let next = at + 1; next < at + length; next += 1) point = (point << 6) | (bytes[next]! & 0x3f);
  return byteOf[point] ?? unreadableByte;
}
