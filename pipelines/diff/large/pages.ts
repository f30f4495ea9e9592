import type { HashSeed } from '../../changes/change-file.ts';
import { CompareError } from '../../changes/errors.ts';
import type { LargeFormat } from '../../registers/module.ts';
import { chunkBytes } from '../zip.ts';
import { endOfLine, lineFeed, type RowBatch, scanRows, slackBytes } from './scan.ts';

/** Some megabytes of whole lines and the rows read from them, in one piece of memory that threads can share. */
export interface Page {
  bytes: Buffer;
  view: DataView;
  /** Length of the text at the start of `bytes`. */
  textBytes: number;
  rows: RowBatch;
}

/** A line that lies across two pieces of text is cut to this length. A line of this length is refused anyway. */
export const maxCarryBytes = 1 << 20;
/** Room for one piece of text and for the longest line that is carried over from the piece before it. */
const maxTextBytes = chunkBytes + maxCarryBytes;
/** Most rows in a page: twice as many as a piece of text (2 MB) has on average. Very short lines end a page early. */
const maxRows = 48 * 1024;
const columnBytes = maxRows * 4;
const pageBytes = maxTextBytes + slackBytes + 6 * columnBytes;

export function newPageMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(pageBytes);
}

/** Returns a thread's own view of a page, in memory that `newPageMemory` made. */
export function pageIn(memory: SharedArrayBuffer): Page {
  const column = (index: number) => maxTextBytes + slackBytes + index * columnBytes;
  return {
    bytes: Buffer.from(memory, 0, maxTextBytes + slackBytes),
    view: new DataView(memory, 0, maxTextBytes + slackBytes),
    textBytes: 0,
    rows: {
      keys: new Uint32Array(memory, column(0), maxRows),
      starts: new Int32Array(memory, column(1), maxRows),
      ends: new Int32Array(memory, column(2), maxRows),
      hash1: new Int32Array(memory, column(3), maxRows),
      hash2: new Int32Array(memory, column(4), maxRows),
      count: 0,
      emptyNames: 0,
      repairable: new Int32Array(memory, column(5), maxRows),
      repairables: 0,
    },
  };
}

/**
 * Reads a publication's text into pages. The header line is checked and left out, so the first row is line 2.
 * @param freePage gives an empty page; it must not give a page whose rows are still in use
 * @throws CompareError `header_changed`; `empty` when there is not even a header; the errors of `chunks`
 */
export async function* pagesOf(
  chunks: AsyncIterable<Buffer>,
  format: LargeFormat,
  seed: HashSeed,
  freePage: () => Page | Promise<Page>,
): AsyncGenerator<Page> {
  let page: Page | null = null;
  for await (const region of rowRegionsOf(chunks, format)) {
    while (region.from < region.limit) {
      page ??= emptied(await freePage());
      readInto(page, region, seed, format.cells);
      // A line that lies across two pieces of text is a region of its own. Such a single line must not take a whole
      // page. So the lines of the next region go into this page too.
      if (region.from === region.limit && page.textBytes < chunkBytes / 2 && page.rows.count < maxRows) continue;
      yield page;
      page = null;
    }
  }
  if (page !== null) yield page;
}

/** Yields the lines after the header, in the form that `scanRows` reads. */
async function* rowRegionsOf(chunks: AsyncIterable<Buffer>, format: LargeFormat): AsyncGenerator<LineRegion> {
  let headerSeen = false;
  for await (const region of regionsOf(format.canonical === undefined ? chunks : piecesOf(format.canonical(chunks)))) {
    if (!headerSeen) skipHeader(region, format);
    headerSeen = true;
    yield region;
  }
  if (!headerSeen) throw new CompareError('empty', 'The publication is empty: it has not even a header.');
}

/** Checks the header and reads no rows. @throws CompareError as `pagesOf` */
export async function checkHeader(chunks: AsyncIterable<Buffer>, format: LargeFormat): Promise<void> {
  for await (const _ of rowRegionsOf(startOf(chunks, maxHeaderBytes), format)) return;
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

/** Cuts text into pieces that fit a page. */
async function* piecesOf(text: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of text) {
    for (let from = 0; from < piece.length; from += chunkBytes) yield piece.subarray(from, from + chunkBytes);
  }
}

function emptied(page: Page): Page {
  page.textBytes = 0;
  page.rows.count = 0;
  page.rows.emptyNames = 0;
  page.rows.repairables = 0;
  return page;
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
  const stop = scanRows(page.bytes, page.view, page.textBytes, page.textBytes + text.length, page.rows, seed, cells);
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
  view: DataView;
  from: number;
  limit: number;
}

/** Cuts pieces of text into regions of whole lines. Only a line that lies across two pieces is copied. */
export async function* regionsOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<LineRegion> {
  const carry = new Uint8Array(maxCarryBytes + slackBytes);
  const carryView = new DataView(carry.buffer);
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
      yield { bytes: carry, view: carryView, from: 0, limit: carried + 1 };
      carried = 0;
      from = lineEnd + 1;
    }
    const last = chunk.length > slackBytes ? chunk.lastIndexOf(lineFeed, chunk.length - slackBytes - 1) : -1;
    const limit = Math.max(from, last + 1);
    if (limit > from) {
      yield { bytes: chunk, view: new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength), from, limit };
    }
    keep(chunk.subarray(limit));
  }
  if (carried === 0) return;
  // The last line counts even if it has no line end.
  if (carry[carried - 1] !== lineFeed) carry[carried++] = lineFeed;
  yield { bytes: carry, view: carryView, from: 0, limit: carried };
}
