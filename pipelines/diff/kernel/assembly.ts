// This file is AssemblyScript: TypeScript's syntax with the types of WebAssembly. `npm run kernel` compiles it to
// kernel.wasm. A `usize` is a position in the kernel's memory. Nothing here checks positions, so callers (kernel.ts) give
// ranges that lie in the memory. Columns of a page or a batch hold one number of four bytes per row.

const pipe: u8 = 0x7c;
const lineFeed: u8 = 0x0a;
const carriageReturn: u8 = 0x0d;
const space: u8 = 0x20;

const multiplier1: u32 = 0x9e3779b1;
const multiplier2: u32 = 0x85ebca77;

/** Position of the table of check digits by sum (one byte each), and of the table of first keys by prefix. */
const checkDigits: usize = 1024;
const firstKeys: usize = 2048;

/** The first results of `readRows`: the number of rows in the page, and of rows with an empty name among the new. */
export let rows: u32 = 0;
export let emptyNames: u32 = 0;

function mix1(lane: u32, word: u32): u32 {
  return rotl<u32>(lane ^ word, 13) * multiplier1;
}

function mix2(lane: u32, word: u32): u32 {
  return rotl<u32>(lane ^ word, 19) * multiplier2;
}

/**
 * Returns the key of the RUC at `start`, or -1 if no good RUC and pipe stand there. Twelve bytes are read as three
 * words, and each step handles the four digits of a word at once.
 */
function readKey(start: usize): i32 {
  const word1 = load<u32>(start);
  const word2 = load<u32>(start, 4);
  const word3 = load<u32>(start, 8);
  // A byte is a digit if its high half is 3, and still is after 6 is added. The twelfth byte must be a pipe.
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
  // The check digit's weights are 5 4 3 2 7 6 5 4 3 2. The top byte of each product is the sum of a word's digits times
  // their weights.
  const sum =
    ((digits1 * 0x05040302) >> 24) + ((digits2 * 0x07060504) >> 24) + (((digits3 & 0xffff) * 0x03020000) >> 24);
  if (load<u8>(checkDigits + sum) !== digits3 >> 16) return -1;
  // Bytes 0 and 2 of these words are numbers of two digits.
  const pairs1 = digits1 * 10 + (digits1 >> 8);
  const pairs2 = digits2 * 10 + (digits2 >> 8);
  const pair3 = (digits3 * 10 + (digits3 >> 8)) & 0xff;
  const first = load<i32>(firstKeys + ((pairs1 & 0xff) << 2));
  if (first < 0) return -1;
  return first + ((pairs1 >> 16) & 0xff) * 1_000_000 + (pairs2 & 0xff) * 10_000 + ((pairs2 >> 16) & 0xff) * 100 + pair3;
}

/**
 * Reads good lines from `position` on and adds them to a page's columns as rows, from `row` on. Returns the position
 * where it stopped: at `limit`, at `maxRows`, or at a line that the caller must read itself. Such a line is not a row of
 * `cells` cells, or has control bytes, or is longer than `maxLineBytes`.
 *
 * It reads 16 bytes at a time and up to 16 bytes beyond `limit`. scan.ts explains the hash.
 * @param text position of the page's text, from which `starts` and `ends` count
 * @param columns position of the page's first column; the columns are keys, first and second hash lane, starts, ends
 */
export function readRows(
  position: usize,
  limit: usize,
  row: u32,
  maxRows: u32,
  text: usize,
  columns: usize,
  columnBytes: usize,
  seed1: u32,
  seed2: u32,
  cells: u32,
  maxLineBytes: usize,
): usize {
  const spaces = i8x16.splat(space);
  const pipes = i8x16.splat(pipe);
  let empty: u32 = 0;
  let start = position;
  while (row < maxRows && start < limit) {
    const key = readKey(start);
    if (key < 0) break;
    let at = start + 12;
    let lane1 = seed1;
    let lane2 = seed2;
    // The first pipe was read together with the RUC.
    let count: u32 = 1;
    let bytes = v128.load(at);
    // Bit n of `control` is set if byte n is a control byte. The first of them ends the line.
    let control = i8x16.bitmask(i8x16.lt_u(bytes, spaces));
    while (control === 0) {
      count += popcnt(i8x16.bitmask(i8x16.eq(bytes, pipes)));
      const word1 = i32x4.extract_lane(bytes, 0);
      const word2 = i32x4.extract_lane(bytes, 1);
      const word3 = i32x4.extract_lane(bytes, 2);
      const word4 = i32x4.extract_lane(bytes, 3);
      lane1 = mix1(mix1(mix1(mix1(lane1, word1), word2), word3), word4);
      lane2 = mix2(mix2(mix2(mix2(lane2, word1), word2), word3), word4);
      at += 16;
      bytes = v128.load(at);
      control = i8x16.bitmask(i8x16.lt_u(bytes, spaces));
    }
    const left = ctz(control);
    const end = at + left;
    count += popcnt(i8x16.bitmask(i8x16.eq(bytes, pipes)) & ((1 << left) - 1));
    let word = load<u32>(at);
    for (; at + 4 <= end; at += 4, word = load<u32>(at)) {
      lane1 = mix1(lane1, word);
      lane2 = mix2(lane2, word);
    }
    // Bytes after the line's end do not count.
    word &= (1 << ((<u32>(end - at)) << 3)) - 1;
    if (count !== cells || load<u8>(end - 1) !== pipe || end - start > maxLineBytes) break;
    let next = end + 1;
    if (load<u8>(end) !== lineFeed) {
      if (load<u8>(end) !== carriageReturn || load<u8>(end, 1) !== lineFeed) break;
      next = end + 2;
    }
    if (load<u8>(start, 12) === pipe) empty += 1;
    const cell = columns + ((<usize>row) << 2);
    store<u32>(cell, key);
    store<u32>(cell + columnBytes, mix1(lane1, word));
    store<u32>(cell + columnBytes * 2, mix2(lane2, word));
    store<u32>(cell + columnBytes * 3, start - text);
    store<u32>(cell + columnBytes * 4, end - text);
    start = next;
    row += 1;
  }
  rows = row;
  emptyNames = empty;
  return start;
}

/** Rows looked up together: enough to let waits for memory overlap, and few enough to stay in the first-level cache. */
const rowsPerBatch: u32 = 512;

/**
 * Looks rows up in an index (edition-index.ts) and lists each row that is not the same as the index's row. A row also is
 * listed if an earlier row has its RUC, or if the index does not have the RUC. Sets the bit of each rank that was found
 * in `seen`. Returns the number of listed rows. An element of the list is 2 × the row's number, plus 1 if the index has
 * the RUC and an earlier row has it too.
 *
 * The loops mostly wait for memory. They are fast only while many waits overlap, so each loop reads one place and has no
 * branches.
 * @param columns position of the first of the columns that `readRows` writes
 * @param ranks memory for 2 × `rowsPerBatch` numbers
 * @param listed memory for one number per row, and one more
 */
export function listOthers(
  columns: usize,
  columnBytes: usize,
  count: u32,
  bucketBits: u32,
  buckets: u32,
  ranks: usize,
  firstPair: usize,
  table: usize,
  entries: usize,
  seen: usize,
  listed: usize,
): u32 {
  const wordMask = (1 << (bucketBits - 5)) - 1;
  const different = ranks + (rowsPerBatch << 2);
  let to = listed;
  for (let from: u32 = 0; from < count; from += rowsPerBatch) {
    const batch = min(count - from, rowsPerBatch);
    const keys = columns + ((<usize>from) << 2);
    for (let row: u32 = 0; row < batch; row += 1) {
      const key = load<u32>(keys + (row << 2));
      // The key of a bad line is in the last bucket, which has no rows.
      const bucket = (key >> bucketBits) & (buckets - 1);
      const pair = table + ((load<u32>(firstPair + (bucket << 2)) + ((key >> 5) & wordMask)) << 3);
      const bits = load<u32>(pair);
      const absent = ((bits >> (key & 31)) & 1) - 1;
      // The rank is the word's first rank and the number of lower bits, or -1 if the key's bit is not set.
      store<u32>(ranks + (row << 2), (load<u32>(pair, 4) + popcnt(bits & ((1 << (key & 31)) - 1))) | absent);
    }
    for (let row: u32 = 0; row < batch; row += 1) {
      const rank = load<i32>(ranks + (row << 2));
      const entry = entries + <usize>(rank & ~(rank >> 31)) * 12;
      const hashes = keys + columnBytes + (row << 2);
      const differs = (load<u32>(entry) ^ load<u32>(hashes)) | (load<u32>(entry, 4) ^ load<u32>(hashes + columnBytes));
      store<u32>(different + (row << 2), differs);
    }
    for (let row: u32 = 0; row < batch; row += 1) {
      const rank = load<i32>(ranks + (row << 2));
      const absent = rank >> 31;
      const word = seen + <usize>(((rank & ~absent) >> 5) << 2);
      const bit = (1 << (rank & 31)) & ~absent;
      const marked = load<i32>(word);
      store<i32>(word, marked | bit);
      const repeats = <u32>((marked & bit) !== 0);
      // The next row overwrites this element, unless the row is to be listed.
      store<u32>(to, ((from + row) << 1) | repeats);
      to += (<usize>((load<u32>(different + (row << 2)) | repeats | absent) !== 0)) << 2;
    }
  }
  return <u32>((to - listed) >> 2);
}
