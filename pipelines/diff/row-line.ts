import { keyAt, noKey, rucOfKey } from '../registers/ruc-key.ts';

/**
 * The form in which the engine reads every large register: one line per row, cells each closed by a pipe, the RUC first,
 * LF (or CR LF), Windows-1252, no quoting.
 */
export const pipe = 0x7c;
export const lineFeed = 0x0a;
export const carriageReturn = 0x0d;
const space = 0x20;

/** Longest line read; the widest official cells add up to some 250 bytes. The pipe count in scan.ts relies on ≤ 1,000. */
export const maxLineBytes = 1000;

export type LineProblem =
  | 'too_long'
  | 'ruc_format'
  | 'ruc_prefix'
  | 'ruc_check_digit'
  | 'cell_count'
  | 'text_after_last_cell';

/**
 * Why a line is no row of `cells` cells, or null when it is one. The plain statement of the rule that scan.ts applies fast.
 * `end` excludes the line end. Control bytes are no reason: they are read as spaces.
 */
export function problemOfLine(bytes: Uint8Array, start: number, end: number, cells: number): LineProblem | null {
  if (end - start > maxLineBytes) return 'too_long';
  for (let at = start; at < start + 11; at += 1) {
    if (at >= end || bytes[at]! < 48 || bytes[at]! > 57) return 'ruc_format';
  }
  if (bytes[start + 11] !== pipe || start + 11 >= end) return 'ruc_format';
  const key = keyAt(bytes, start, end);
  if (key === noKey) return 'ruc_prefix';
  if (rucOfKey(key).charCodeAt(10) !== bytes[start + 10]) return 'ruc_check_digit';
  let pipes = 0;
  for (let at = start; at < end; at += 1) if (bytes[at] === pipe) pipes += 1;
  if (pipes !== cells) return 'cell_count';
  return bytes[end - 1] === pipe ? null : 'text_after_last_cell';
}

/** Makes a space of every control byte, in place. */
export function blankControlBytes(bytes: Uint8Array, start: number, end: number): void {
  for (let at = start; at < end; at += 1) if (bytes[at]! < space) bytes[at] = space;
}

/** Ends of the cells (the positions of their pipes) of a good row at `start`, as many as `ends` has room for. */
export function cellEnds(bytes: Uint8Array, start: number, ends: Int32Array): void {
  let at = start;
  for (let cell = 0; cell < ends.length; cell += 1) {
    while (bytes[at] !== pipe) at += 1;
    ends[cell] = at;
    at += 1;
  }
}

/** End of the line at `start` without its line end. */
export function endOfLine(bytes: Uint8Array, start: number): number {
  const lineEnd = bytes.indexOf(lineFeed, start);
  return lineEnd > start && bytes[lineEnd - 1] === carriageReturn ? lineEnd - 1 : lineEnd;
}
