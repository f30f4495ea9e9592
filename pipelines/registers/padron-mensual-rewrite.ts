import { codePointOf, unreadableByte } from './windows-1252.ts';

/**
 * The monthly open data: one header line, then one line per RUC, 16 cells, no quoting. Delimiter (pipe or comma) and encoding
 * (Windows-1252 or UTF-8) change between months.
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
/** All but the last, which is the date of the whole file. */
export const cellsPerRow = columnNames.length - 1;

export type Delimiter = '|' | ',';
const byteOrderMark = /^\u00ef\u00bb\u00bf/;
const comparedNames = columnNames.map(comparedName);

/** Sister files have been seen with a blank before a name, and with other capitals. */
function comparedName(name: string): string {
  return name.trim().toLowerCase();
}

/** What separates the cells, or what is wrong with the header; never quotes the line: it may be a person's row. */
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

/** AAAAMM in the last cell of a whole row, else null. The period of a file is that of its first row that has one. */
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

/**
 * Length in bytes of the UTF-8 character that begins at `at` (RFC 3629: no overlong form, no surrogate), or 0 when none
 * does. The bytes must end with one that continues no character.
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

/** Windows-1252 byte of the character of `length` bytes at `at`; one that Windows-1252 lacks is `unreadableByte`. */
function windows1252Of(bytes: Uint8Array, at: number, length: number): number {
  if (length > 3) return unreadableByte;
  let point = bytes[at]! & (length === 2 ? 0x1f : 0x0f);
  for (let next = at + 1; next < at + length; next += 1) point = (point << 6) | (bytes[next]! & 0x3f);
  return byteOf[point] ?? unreadableByte;
}
