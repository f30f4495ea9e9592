import type { HashSeed } from '../../changes/change-file.ts';
import { CompareError } from '../../changes/errors.ts';
import type { LargeFormat } from '../../registers/module.ts';
import { keyAt, noKey } from '../../registers/ruc-key.ts';
import { type Kernel, type KernelMemory, kernelIn } from '../kernel/kernel.ts';
import { chunkBytes } from '../zip.ts';
import { endOfLine, lineFeed, maxLineBytes, pipe, problemOfLine, slackBytes } from './scan.ts';

/** Some megabytes of whole lines and the rows read from them, in the kernel's memory. */
export interface Page {
  bytes: Buffer;
  view: DataView;
  /** Length of the text at the start of `bytes`. */
  textBytes: number;
  rows: PageRows;
  /** The kernel's functions for the memory that the page lies in. */
  kernel: Kernel;
}

/** The lines of a page. Each array except `repairable` has one element per line. */
export interface PageRows {
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

/** A line that lies across two pieces of text is cut to this length. A line of this length is refused anyway. */
const maxCarryBytes = 1 << 20;
/** Room for one piece of text and for the longest line that is carried over from the piece before it. */
const maxTextBytes = chunkBytes + maxCarryBytes;
/** Most rows in a page: twice as many as a piece of text (2 MB) has on average. Very short lines end a page early. */
export const maxRows = 48 * 1024;
export const columnBytes = maxRows * 4;
const firstColumn = maxTextBytes + slackBytes;

/** Takes room for one page from the kernel's memory. */
export function newPage(memory: KernelMemory): Page {
  const { buffer, at } = memory.take(firstColumn + 6 * columnBytes);
  const column = (index: number) => new Int32Array(buffer, at + firstColumn + index * columnBytes, maxRows);
  return {
    bytes: Buffer.from(buffer, at, firstColumn),
    view: new DataView(buffer, at, firstColumn),
    textBytes: 0,
    rows: {
      // The kernel expects the first five columns in this order.
      keys: new Uint32Array(buffer, at + firstColumn, maxRows),
      hash1: column(1),
      hash2: column(2),
      starts: column(3),
      ends: column(4),
      count: 0,
      emptyNames: 0,
      repairable: column(5),
      repairables: 0,
    },
    kernel: kernelIn(memory.memory),
  };
}

/**
 * Adds lines from `position` on to the page's rows, until the page has its most rows or `limit` (just after a line end)
 * is reached. Returns the position where it stopped. A good line has `cells` cells. A row with control bytes is listed
 * in `repairable`: the caller replaces the control bytes and then hashes the row.
 */
export function scanRows(page: Page, position: number, limit: number, seed: HashSeed, cells: number): number {
  const { kernel, bytes, rows } = page;
  const text = bytes.byteOffset;
  const columns = rows.keys.byteOffset;
  const most = rows.keys.length;
  const rules = [seed.first, seed.second, cells, maxLineBytes];
  let from = position;
  for (;;) {
    from = kernel.readRows(text + from, text + limit, rows.count, most, text, columns, columnBytes, ...rules) - text;
    rows.count = kernel.rows.value;
    rows.emptyNames += kernel.emptyNames.value;
    if (from >= limit || rows.count === most) return from;
    from = readSlowly(page, from, cells);
  }
}

/** Reads a line that is not a row, or a row with control bytes. Returns where the next line starts. */
function readSlowly({ bytes, rows }: Page, start: number, cells: number): number {
  const end = endOfLine(bytes, start);
  const isRow = problemOfLine(bytes, start, end, cells) === null;
  const row = rows.count++;
  rows.keys[row] = isRow ? keyAt(bytes, start, end) : noKey;
  rows.starts[row] = start;
  rows.ends[row] = end;
  if (isRow) {
    rows.repairable[rows.repairables++] = row;
    if (bytes[start + 12] === pipe) rows.emptyNames += 1;
  }
  return bytes.indexOf(lineFeed, end) + 1;
}

/**
 * Reads a publication's canonical text into `page`, and yields it each time it is full. A page is valid until the caller
 * asks for the next. The header line is checked and left out, so the first row is line 2.
 * @throws CompareError `header_changed`; `empty` when there is not even a header; the errors of `text`
 */
export async function* pagesOf(
  text: AsyncIterable<Buffer>,
  format: LargeFormat,
  seed: HashSeed,
  page: Page,
): AsyncGenerator<Page> {
  empty(page);
  for await (const region of rowRegionsOf(text, format)) {
    while (region.from < region.limit) {
      readInto(page, region, seed, format.cells);
      // A line that lies across two pieces of text is a region of its own. Such a single line must not take a whole
      // page. So the lines of the next region go into this page too.
      if (region.from === region.limit && page.textBytes < chunkBytes / 2 && page.rows.count < maxRows) continue;
      yield page;
      empty(page);
    }
  }
  if (page.textBytes > 0) yield page;
}

/** Yields the lines after the header, in the form that `scanRows` reads. */
async function* rowRegionsOf(text: AsyncIterable<Buffer>, format: LargeFormat): AsyncGenerator<LineRegion> {
  let headerSeen = false;
  for await (const region of regionsOf(text)) {
    if (!headerSeen) skipHeader(region, format);
    headerSeen = true;
    yield region;
  }
  if (!headerSeen) throw new CompareError('empty', 'The publication is empty: it has not even a header.');
}

/** Checks the header and reads no rows. @throws CompareError as `pagesOf` */
export async function checkHeader(chunks: AsyncIterable<Buffer>, format: LargeFormat): Promise<void> {
  for await (const _ of rowRegionsOf(canonicalText(startOf(chunks, maxHeaderBytes), format), format)) return;
}

/** A longer first line is no header. Without this limit, a text of gigabytes in one line would be read to its end. */
const maxHeaderBytes = 64 * 1024;

async function* startOf(chunks: AsyncIterable<Buffer>, atLeastBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    yield chunk;
    bytes += chunk.length;
    if (bytes >= atLeastBytes) return;
  }
}

/** Gives a published text in the form that `scanRows` reads, in pieces of at most `chunkBytes`. */
export async function* canonicalText(chunks: AsyncIterable<Buffer>, format: LargeFormat): AsyncGenerator<Buffer> {
  for await (const piece of format.canonical?.(chunks) ?? chunks) {
    for (let from = 0; from < piece.length; from += chunkBytes) yield piece.subarray(from, from + chunkBytes);
  }
}

function empty(page: Page): void {
  page.textBytes = 0;
  page.rows.count = 0;
  page.rows.emptyNames = 0;
  page.rows.repairables = 0;
}

/**
 * Moves the lines of a region (a piece of the text) to the page until the page has its most rows. Moves no line if the
 * region's text is longer than the free part of the page. An empty page has room for the text of any region.
 */
function readInto(page: Page, region: LineRegion, seed: HashSeed, cells: number): void {
  const text = region.bytes.subarray(region.from, region.limit);
  if (page.textBytes + text.length > maxTextBytes) return;
  // `set` would copy into shared memory word by word, which is twelve times slower than `fill`.
  page.bytes.fill(text, page.textBytes, page.textBytes + text.length);
  const stop = scanRows(page, page.textBytes, page.textBytes + text.length, seed, cells);
  region.from += stop - page.textBytes;
  page.textBytes = stop;
}

function skipHeader(region: LineRegion, format: LargeFormat): void {
  const end = endOfLine(region.bytes, region.from);
  const problem = format.problemOfHeader(region.bytes.subarray(region.from, end));
  if (problem !== null) throw new CompareError('header_changed', `The header is not the known one: ${problem}.`);
  region.from = region.bytes.indexOf(0x0a, end) + 1;
}

/**
 * Whole lines: the range `[from, limit)` of `bytes`. At least `slackBytes` bytes must follow `limit`, because readers
 * of lines may read that far beyond a line.
 */
export interface LineRegion {
  bytes: Uint8Array;
  from: number;
  limit: number;
}

/** Cuts pieces of text into regions of whole lines. Only a line that lies across two pieces is copied. */
export async function* regionsOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<LineRegion> {
  const carry = new Uint8Array(maxCarryBytes + slackBytes);
  let carried = 0;
  const keep = (piece: Uint8Array) => {
    // One byte stays free for the line end.
    const kept = piece.subarray(0, Math.max(0, maxCarryBytes - 1 - carried));
    carry.set(kept, carried);
    carried += kept.length;
  };
  for await (const chunk of chunks) {
    let from = 0;
    if (carried > 0) {
      const lineEnd = chunk.indexOf(lineFeed);
      keep(lineEnd < 0 ? chunk : chunk.subarray(0, lineEnd));
      if (lineEnd < 0) continue;
      carry[carried] = lineFeed;
      yield { bytes: carry, from: 0, limit: carried + 1 };
      carried = 0;
      from = lineEnd + 1;
    }
    const last = chunk.length > slackBytes ? chunk.lastIndexOf(lineFeed, chunk.length - slackBytes - 1) : -1;
    const limit = Math.max(from, last + 1);
    if (limit > from) yield { bytes: chunk, from, limit };
    keep(chunk.subarray(limit));
  }
  if (carried === 0) return;
  // The last line counts even if it has no line end.
  if (carry[carried - 1] !== lineFeed) carry[carried++] = lineFeed;
  yield { bytes: carry, from: 0, limit: carried };
}
