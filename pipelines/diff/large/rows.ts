import { rucLength } from '../../../schemas/ruc.ts';
import { AvroCursor, writeLong } from '../../changes/avro.ts';
import type { BlockCursor } from '../../changes/record-bytes.ts';
import { byteOfCodePoint, encodeWindows1252, utf8Bytes, utf8Length } from '../../registers/windows-1252.ts';
import { emptyRow, type StoredRow } from './row-store.ts';
import { maxRowBytes, pipe, slackBytes } from './scan.ts';

const memoryBytes = maxRowBytes + slackBytes;

/** Turns the rows of a change back into the register's bytes. It reverses `encodeRow` and makes no strings. */
export class RowDecoder {
  readonly #before = emptyRow(memoryBytes);
  readonly #after = emptyRow(memoryBytes);
  readonly #cells = new AvroCursor();
  readonly #columns: number;

  /** @param columns number of cells of a row after the RUC */
  constructor(columns: number) {
    this.#columns = columns;
  }

  /** Returns the rows of the record that the cursor is at, valid until the next call. */
  read(record: BlockCursor): { before: StoredRow | null; after: StoredRow | null } {
    return {
      before: this.#row(record, record.beforeAt, this.#before),
      after: this.#row(record, record.afterAt, this.#after),
    };
  }

  #row(record: BlockCursor, cellsAt: number, into: StoredRow): StoredRow | null {
    if (cellsAt < 0) return null;
    const { bytes, keyAt } = record;
    const cells = this.#cells;
    cells.reset(bytes, cellsAt, record.at);
    const to = into.bytes;
    let end = 0;
    for (; end < rucLength; end += 1) to[end] = bytes[keyAt + end]!;
    to[end++] = pipe;
    for (let column = 0; column < this.#columns; column += 1) {
      const last = cells.stringLength() + cells.at;
      while (cells.at < last) to[end++] = this.#character(bytes);
      to[end++] = pipe;
    }
    into.end = end;
    return into;
  }

  /**
   * Reads one UTF-8 character and returns its Windows-1252 byte. No character of Windows-1252 has four bytes in UTF-8.
   */
  #character(bytes: Buffer): number {
    const cells = this.#cells;
    const first = bytes[cells.at++]!;
    if (first < 0x80) return first;
    let codePoint = ((first & 0x1f) << 6) | (bytes[cells.at++]! & 0x3f);
    if (first >= 0xe0)
      codePoint = (((first & 0x0f) << 12) | ((codePoint & 0x3f) << 6) | (bytes[cells.at++]! & 0x3f)) >>> 0;
    return byteOfCodePoint(codePoint);
  }
}

const dash = 0x2d;

/** Counts empty cells by column. A cell is empty when its text is one of the register's `emptyMarkers`. */
export class EmptyCells {
  readonly byColumn: Float64Array;
  /** Length of the longest marker in bytes; -1 if there are no markers. */
  readonly longest: number;
  /**
   * 1 if a single dash is a marker, else 0. Three of four cells of the large registers are a single dash, so
   * `encodeRow` looks for a dash first.
   */
  readonly dashes: 0 | 1;
  /** The markers of each length: element n has the markers of n bytes. */
  readonly #markers: Uint8Array[][];

  constructor(columns: number, markers: readonly string[]) {
    this.byColumn = new Float64Array(columns);
    const encoded = markers.map(encodeWindows1252);
    this.longest = encoded.reduce((longest, { length }) => Math.max(longest, length), -1);
    this.dashes = encoded.some((marker) => marker.length === 1 && marker[0] === dash) ? 1 : 0;
    this.#markers = Array.from({ length: this.longest + 1 }, (_, length) =>
      encoded.filter((marker) => marker.length === length),
    );
  }

  /** Whether the cell `[first, end)` is a marker (a text such as `-` for no value). It has at most `longest` bytes. */
  isMarker(bytes: Uint8Array, first: number, end: number): boolean {
    const markers = this.#markers[end - first]!;
    for (let index = 0; index < markers.length; index += 1) if (isAt(bytes, first, markers[index]!)) return true;
    return false;
  }
}

function isAt(bytes: Uint8Array, first: number, marker: Uint8Array): boolean {
  for (let at = 0; at < marker.length; at += 1) if (bytes[first + at] !== marker[at]) return false;
  return true;
}

/**
 * Writes the cells of the good row at `start`, except its RUC, as Avro strings in UTF-8. Returns the position after
 * them. The row must have one cell for each column of `empty`. Each empty cell adds `sign` to the count of its column.
 */
export function encodeRow(
  to: Uint8Array,
  position: number,
  bytes: Uint8Array,
  start: number,
  empty: EmptyCells,
  sign: number,
): number {
  // A local copy is faster: V8 checks an imported name at each use, but never a local one.
  const cellEnd = pipe;
  const { byColumn, longest } = empty;
  const columns = byColumn.length;
  const ofDash = sign * empty.dashes;
  let at = position;
  let from = start + 12;
  for (let column = 0; column < columns; column += 1) {
    if (bytes[from] === dash && bytes[from + 1] === cellEnd) {
      to[at] = 1 << 1;
      to[at + 1] = dash;
      at += 2;
      from += 2;
      byColumn[column]! += ofDash;
      continue;
    }
    const lengthAt = at;
    at += 1;
    const first = from;
    for (let byte = bytes[from]!; byte !== cellEnd; byte = bytes[++from]!) {
      if (byte < 0x80) to[at++] = byte;
      else for (let index = 0; index < utf8Length[byte]!; index += 1) to[at++] = utf8Bytes[byte * 3 + index]!;
    }
    if (from - first <= longest && empty.isMarker(bytes, first, from)) byColumn[column]! += sign;
    from += 1;
    const length = at - lengthAt - 1;
    if (length >= 64) {
      // Makes room for the second byte of the length. Avro writes a length from 64 to 8,191 as two bytes. No cell is
      // longer than 8,191 bytes.
      to.copyWithin(lengthAt + 2, lengthAt + 1, at);
      at += 1;
    }
    writeLong(to, lengthAt, length);
  }
  return at;
}

/** For each empty cell of the good row at `start`, adds `sign` to the count of the cell's column. */
export function countEmptyCells(bytes: Uint8Array, start: number, empty: EmptyCells, sign: number): void {
  const { byColumn, longest } = empty;
  let from = start + 12;
  for (let column = 0; column < byColumn.length; column += 1) {
    const first = from;
    while (bytes[from] !== pipe) from += 1;
    if (from - first <= longest && empty.isMarker(bytes, first, from)) byColumn[column]! += sign;
    from += 1;
  }
}
