import { utf8Bytes, utf8Length } from '../registers/windows-1252.ts';
import type { EmptyCells } from './empty-cells.ts';
import { pipe } from './row-line.ts';

const dash = 0x2d;

/**
 * Writes the cells after the RUC of the good row at `start`, as many as `empty` has columns, as an Avro record of strings,
 * Windows-1252 → UTF-8, without making a string; returns where it ends. Adds `sign` to the count of each cell that stands
 * for nothing.
 */
export function encodeRow(
  to: Uint8Array,
  position: number,
  bytes: Uint8Array,
  start: number,
  empty: EmptyCells,
  sign: number,
): number {
  // An imported name is checked at each use.
  const cellEnd = pipe;
  const { byColumn, longest } = empty;
  const columns = byColumn.length;
  const ofDash = sign * empty.dashes;
  let at = position;
  let from = start + 12;
  for (let column = 0; column < columns; column += 1) {
    // Three cells in four are a single dash.
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
    if (length < 64) to[lengthAt] = length << 1;
    else {
      // Lengths from 64 on take two bytes (up to 8,191, past any line): make room for the second.
      to.copyWithin(lengthAt + 2, lengthAt + 1, at);
      to[lengthAt] = ((length << 1) & 0x7f) | 0x80;
      to[lengthAt + 1] = length >> 6;
      at += 1;
    }
  }
  return at;
}

/** Adds `sign` to the count of each cell of the good row at `start` that stands for nothing. */
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
