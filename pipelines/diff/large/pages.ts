import { CompareError } from '../../changes/errors.ts';
import type { LargeFormat } from '../../registers/module.ts';
import { chunkBytes } from '../zip.ts';
import {
  endOfLine,
  type HashSeed,
  type LineRegion,
  maxCarryBytes,
  type RowBatch,
  regionsOf,
  scanRows,
  slackBytes,
} from './scan.ts';

/** Some megabytes of whole lines and what was read in them, in one piece of memory that threads can share. */
export interface Page {
  bytes: Buffer;
  view: DataView;
  /** Text in use, from the start of `bytes`. */
  textBytes: number;
  rows: RowBatch;
}

/** One piece of text and the longest line that can stand before it. */
const maxTextBytes = chunkBytes + maxCarryBytes;
/** Twice the lines that a piece of text has on average; a page of shorter lines ends early. */
const maxRows = 48 * 1024;
const columnBytes = maxRows * 4;
const pageBytes = maxTextBytes + slackBytes + 6 * columnBytes;

export function newPageMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(pageBytes);
}

/** The page in memory that `newPageMemory` made; each thread has its own view of it. */
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
 * Reads a publication's text into pages that `freePage` gives; each is the reader's until it gives it back. The header
 * line is checked and left out: the first row is line 2. Errors: `header_changed`, and those of `chunks`.
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
      // The line that was cut between two pieces shares the next piece's page.
      if (region.from === region.limit && page.textBytes < chunkBytes / 2 && page.rows.count < maxRows) continue;
      yield page;
      page = null;
    }
  }
  if (page !== null) yield page;
}

/** The lines after the header, in the form that the scanner reads. */
async function* rowRegionsOf(chunks: AsyncIterable<Buffer>, format: LargeFormat): AsyncGenerator<LineRegion> {
  let headerSeen = false;
  for await (const region of regionsOf(format.canonical === undefined ? chunks : piecesOf(format.canonical(chunks)))) {
    if (!headerSeen) skipHeader(region, format);
    headerSeen = true;
    yield region;
  }
  if (!headerSeen) throw new CompareError('empty', 'The publication is empty: it has not even a header.');
}

/** Reads no further than where a header must have ended. Errors: as `pagesOf`. */
export async function checkHeader(chunks: AsyncIterable<Buffer>, format: LargeFormat): Promise<void> {
  for await (const _ of rowRegionsOf(startOf(chunks, maxHeaderBytes), format)) return;
}

/** A first line that is longer is no header: without this a text of gigabytes in one line would be read to its end. */
const maxHeaderBytes = 64 * 1024;

async function* startOf(chunks: AsyncIterable<Buffer>, atLeastBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    yield chunk;
    bytes += chunk.length;
    if (bytes >= atLeastBytes) return;
  }
}

/** A format's text in pieces that fit a page. */
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

/** Moves as many of a region's lines to the page as fit; the first region of a page always fits in bytes. */
function readInto(page: Page, region: LineRegion, seed: HashSeed, cells: number): void {
  const text = region.bytes.subarray(region.from, region.limit);
  if (page.textBytes + text.length > maxTextBytes) return;
  // `set` copies into shared memory word by word, twelve times slower.
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
