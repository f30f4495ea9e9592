import type { HashSeed } from '../../changes/change-file.ts';
import { keyAt, noKey, rucOfKey } from '../../registers/ruc-key.ts';

// The form of all large registers: Windows-1252, one line per row, LF or CR LF. The RUC comes first, a pipe ends each
// cell, and nothing is quoted.
export const pipe = 0x7c;
export const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;

/** A longer line is refused. The widest official cells add up to some 250 bytes. */
export const maxLineBytes = 1000;

/**
 * Longest row of a state. It has the cells of one line, but up to three of them (`keepsPrevious` in schemas/registers.ts)
 * may come from earlier lines.
 */
export const maxRowBytes = 4 * maxLineBytes;

export type LineProblem =
  | 'too_long'
  | 'ruc_format'
  | 'ruc_prefix'
  | 'ruc_check_digit'
  | 'cell_count'
  | 'text_after_last_cell';

/**
 * Returns why a line is not a row of `cells` cells, or null if it is a row. The kernel (kernel/assembly.ts)
 * applies this rule in a faster form. `end` is the position of the line end. Control bytes are allowed, because they are
 * read as spaces.
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

export function blankControlBytes(bytes: Uint8Array, start: number, end: number): void {
  for (let at = start; at < end; at += 1) if (bytes[at]! < space) bytes[at] = space;
}

/** Fills `ends` with the positions of the pipes of the good row at `start`. */
export function cellEnds(bytes: Uint8Array, start: number, ends: Int32Array): void {
  let at = start;
  for (let cell = 0; cell < ends.length; cell += 1) {
    while (bytes[at] !== pipe) at += 1;
    ends[cell] = at;
    at += 1;
  }
}

/** Returns where the line at `start` ends, before its LF or CR LF. */
export function endOfLine(bytes: Uint8Array, start: number): number {
  const lineEnd = bytes.indexOf(lineFeed, start);
  return lineEnd > start && bytes[lineEnd - 1] === carriageReturn ? lineEnd - 1 : lineEnd;
}

/** The kernel and `hashOfRow` may read this many bytes past their input, so memory for rows ends with spare bytes. */
export const slackBytes = 16;

const multiplier1 = 0x9e3779b1 | 0;
const multiplier2 = 0x85ebca77 | 0;

function mix1(lane: number, word: number): number {
  const mixed = lane ^ word;
  return Math.imul((mixed << 13) | (mixed >>> 19), multiplier1);
}

function mix2(lane: number, word: number): number {
  const mixed = lane ^ word;
  return Math.imul((mixed << 19) | (mixed >>> 13), multiplier2);
}

/**
 * Writes the two lanes (halves) of the hash of row `[start, end)` to `into`. The kernel computes the same hash, and a
 * test compares the two. Reads up to `slackBytes` past `end`.
 *
 * The hash covers the bytes after the RUC and has two lanes of 32 bits. Each step mixes a word of four bytes into each
 * lane. With equal words, a step never makes equal lanes from different ones; with equal lanes, different words give
 * different lanes. So two rows of equal length that differ in only one word never have equal hashes. For other pairs of
 * rows the chance of equal hashes is 2⁻⁶⁴.
 */
export function hashOfRow(view: DataView, start: number, end: number, seed: HashSeed, into: Int32Array): void {
  let lane1 = seed.first | 0;
  let lane2 = seed.second | 0;
  let at = start + 12;
  for (; at + 4 <= end; at += 4) {
    const word = view.getInt32(at, true);
    lane1 = mix1(lane1, word);
    lane2 = mix2(lane2, word);
  }
  const rest = view.getInt32(at, true) & ((1 << ((end - at) << 3)) - 1);
  into[0] = mix1(lane1, rest);
  into[1] = mix2(lane2, rest);
}
