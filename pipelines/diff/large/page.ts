import type { HashSeed } from '../../changes/change-file.ts';
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
export const maxCarryBytes = 1 << 20;
/** Room for one piece of text and for the longest line that is carried over from the piece before it. */
export const maxTextBytes = chunkBytes + maxCarryBytes;
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
