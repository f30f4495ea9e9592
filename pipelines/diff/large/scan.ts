import type { HashSeed } from '../../changes/change-file.ts';
import { checkDigitOfSum, keyAt, keyOfPrefix, noKey, rucOfKey } from '../../registers/ruc-key.ts';

// The form of all large registers: Windows-1252, one line per row, LF or CR LF. The RUC comes first, a pipe ends each
// cell, and nothing is quoted.
export const pipe = 0x7c;
export const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;

/**
 * A longer line is refused. The widest official cells add up to some 250 bytes. `scanRows` counts pipes in four
 * counters that hold at most 255. In the longest line a counter reaches at most 1,000 bytes / 4 = 250.
 */
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
 * Returns why a line is not a row of `cells` cells, or null if it is a row. `scanRows` applies this rule in a faster
 * form. `end` is the position of the line end. Control bytes are allowed, because they are read as spaces.
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

/** Lines that `scanRows` has read. Each array except `repairable` has one element per line. */
export interface RowBatch {
  /** The key of each line's RUC, or `noKey` for a bad line. */
  keys: Uint32Array;
  /** Where each line starts and ends. The range excludes the line end. */
  starts: Int32Array;
  ends: Int32Array;
  hash1: Int32Array;
  hash2: Int32Array;
  count: number;
  /** Number of good lines whose name is empty. */
  emptyNames: number;
  /** The first `repairables` elements are indexes of rows with control bytes. Such a row has a key but no hash yet. */
  repairable: Int32Array;
  repairables: number;
}

/** `scanRows` and `hashOfRow` may read this many bytes past their input, so memory for rows ends with spare bytes. */
export const slackBytes = 16;

const multiplier1 = 0x9e3779b1 | 0;
const multiplier2 = 0x85ebca77 | 0;

/**
 * Adds lines from `position` on to the batch, until the batch is full or `limit` (just after a line end) is reached.
 * Returns the position where it stopped. A good line has `cells` cells. `bytes` and `view` are one memory, with
 * `slackBytes` more bytes after `limit`.
 *
 * It must accept exactly the lines that `problemOfLine` accepts; a test compares the two. A row with control bytes is
 * listed in `repairable`. The caller replaces the control bytes and then hashes the row.
 *
 * The hash covers the bytes after the RUC and has two lanes of 32 bits. Each step mixes a word of four bytes into each
 * lane. With equal words, a step never makes equal lanes from different ones; with equal lanes, different words give
 * different lanes. So two rows of equal length that differ in only one word never have equal hashes. For other pairs of
 * rows the chance of equal hashes is 2⁻⁶⁴.
 */
export function scanRows(
  bytes: Uint8Array,
  view: DataView,
  position: number,
  limit: number,
  batch: RowBatch,
  seed: HashSeed,
  cells: number,
): number {
  const { keys, starts, ends, hash1, hash2 } = batch;
  const maxRows = keys.length;
  const seed1 = seed.first | 0;
  const seed2 = seed.second | 0;
  // The first pipe is read together with the RUC, so one pipe less than `cells` follows.
  const pipesAfterKey = (cells - 1) | 0;
  let start = position;
  let row = batch.count;
  while (row < maxRows && start < limit) {
    const key = readKey(view.getInt32(start, true), view.getInt32(start + 4, true), view.getInt32(start + 8, true));
    let next = -1;
    if (key >= 0) {
      let at = start + 12;
      let lane1 = seed1;
      let lane2 = seed2;
      let pipes = 0;
      let word = view.getInt32(at, true);
      // Each byte of `word` below 0x20 sets its top bit in `control`. Only the lowest bit that is set is used: the
      // subtraction may borrow from higher bytes and set their bits wrongly.
      let control = (word - 0x20202020) & ~word & 0x80808080;
      while (control === 0) {
        const different = word ^ 0x7c7c7c7c;
        // `pipes` is four counters of one byte. For each byte of the word that is a pipe, this adds 1 to one of them.
        pipes = (pipes + ((~(((different & 0x7f7f7f7f) + 0x7f7f7f7f) | different) >>> 7) & 0x01010101)) | 0;
        lane1 = mix1(lane1, word);
        lane2 = mix2(lane2, word);
        at += 4;
        word = view.getInt32(at, true);
        control = (word - 0x20202020) & ~word & 0x80808080;
      }
      const bitsBefore = 24 - (Math.clz32(control & -control) & 0x18);
      word &= (1 << bitsBefore) - 1;
      const different = word ^ 0x7c7c7c7c;
      pipes = (pipes + ((~(((different & 0x7f7f7f7f) + 0x7f7f7f7f) | different) >>> 7) & 0x01010101)) | 0;
      const end = at + (bitsBefore >> 3);
      if (sumOfBytes(pipes) === pipesAfterKey && bytes[end - 1] === pipe && end - start <= maxLineBytes) {
        const control = bytes[end];
        if (control === lineFeed) next = end + 1;
        else if (control === carriageReturn && bytes[end + 1] === lineFeed) next = end + 2;
        if (next >= 0 && bytes[start + 12] === pipe) batch.emptyNames += 1;
        keys[row] = key;
        ends[row] = end;
        hash1[row] = mix1(lane1, word);
        hash2[row] = mix2(lane2, word);
      }
    }
    starts[row] = start;
    if (next < 0) next = readSlowly(bytes, start, key, batch, row, cells);
    start = next;
    row += 1;
  }
  batch.count = row;
  return start;
}

/** The sum of four counters of one byte. It can be up to 1,020, so it is not computed in a byte. */
function sumOfBytes(word: number): number {
  const pairs = (word & 0x00ff00ff) + ((word >>> 8) & 0x00ff00ff);
  return (pairs & 0xffff) + (pairs >>> 16);
}

/**
 * Reads a line that is not a row, or a row with control bytes. Returns where the next line starts. It is a function of
 * its own to keep the loop of `scanRows` small.
 */
function readSlowly(
  bytes: Uint8Array,
  start: number,
  key: number,
  batch: RowBatch,
  row: number,
  cells: number,
): number {
  const end = endOfLine(bytes, start);
  const isRow = key >= 0 && problemOfLine(bytes, start, end, cells) === null;
  batch.keys[row] = isRow ? key : noKey;
  batch.ends[row] = end;
  if (isRow) {
    batch.repairable[batch.repairables++] = row;
    if (bytes[start + 12] === pipe) batch.emptyNames += 1;
  }
  return bytes.indexOf(lineFeed, end) + 1;
}

function mix1(lane: number, word: number): number {
  const mixed = lane ^ word;
  return Math.imul((mixed << 13) | (mixed >>> 19), multiplier1);
}

function mix2(lane: number, word: number): number {
  const mixed = lane ^ word;
  return Math.imul((mixed << 19) | (mixed >>> 13), multiplier2);
}

/** Returns the key of the RUC in three little-endian words, or -1 if they are not a good RUC and a pipe. */
function readKey(word1: number, word2: number, word3: number): number {
  const shape =
    ((word1 & 0xf0f0f0f0) ^ 0x30303030) |
    (((word1 + 0x06060606) & 0xf0f0f0f0) ^ 0x30303030) |
    ((word2 & 0xf0f0f0f0) ^ 0x30303030) |
    (((word2 + 0x06060606) & 0xf0f0f0f0) ^ 0x30303030) |
    ((word3 & 0xfff0f0f0) ^ 0x7c303030) |
    (((word3 + 0x00060606) & 0xfff0f0f0) ^ 0x7c303030);
  if (shape !== 0) return -1;
  const digits1 = word1 & 0x0f0f0f0f;
  const digits2 = word2 & 0x0f0f0f0f;
  const digits3 = word3 & 0x000f0f0f;
  // The check digit depends on a weighted sum of the first ten digits. The three words have four, four and two of these
  // digits. The top byte of each product is the sum of one word. No lower byte can overflow into the top byte.
  const sum =
    (Math.imul(digits1, 0x05040302) >>> 24) +
    (Math.imul(digits2, 0x07060504) >>> 24) +
    (Math.imul(digits3 & 0xffff, 0x03020000) >>> 24);
  if (checkDigitOfSum[sum] !== digits3 >>> 16) return -1;
  const pairs1 = Math.imul(digits1, 10) + (digits1 >>> 8);
  const pairs2 = Math.imul(digits2, 10) + (digits2 >>> 8);
  const pair3 = (Math.imul(digits3, 10) + (digits3 >>> 8)) & 0xff;
  const first = keyOfPrefix[pairs1 & 0xff]!;
  if (first < 0) return -1;
  return (
    first + ((pairs1 >>> 16) & 0xff) * 1_000_000 + (pairs2 & 0xff) * 10_000 + ((pairs2 >>> 16) & 0xff) * 100 + pair3
  );
}

/** Writes the two lanes (halves) of the hash of row `[start, end)` to `into`. Reads up to `slackBytes` past `end`. */
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
