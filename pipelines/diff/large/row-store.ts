import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { RegisterName } from '../../../schemas/registers.ts';
import { CompareError } from '../../changes/errors.ts';
import { keyAt } from '../../registers/ruc-key.ts';
import { AttemptFile } from '../../runtime/durable-files.ts';
import { workFileName } from '../work-files.ts';
import type { EditionIndex } from './edition-index.ts';
import type { IndexHeader } from './index-format.ts';
import { hashOfRow, lineFeed, maxLineBytes, slackBytes } from './scan.ts';
import { readFully } from './spill.ts';

/** Reads an edition's rows from its row store by key. It checks for each row that it matches its index entry. */
export class BaseRows {
  readonly index: EditionIndex;
  readonly #store: RowStore;
  readonly #hash = new Int32Array(2);

  /** @throws CompareError `index_missing` */
  constructor(folder: string, register: RegisterName, index: EditionIndex) {
    this.index = index;
    this.#store = new RowStore(folder, register, index.header.segments);
  }

  /**
   * Announces that the caller will read `rows` out of the next `of` rows. If `rows` is over 5 % of `of`, each access to
   * the file reads a megabyte, with many of the rows that follow. Else an access reads only enough for one row.
   */
  expect(rows: number, of: number): void {
    this.#store.expect(rows * 20 > of ? 'many' : 'few');
  }

  /**
   * Returns the row of `key`, which is at `rank` in the index. The row is valid until the next call.
   * @throws CompareError `index_damaged`
   */
  read(key: number, rank: number): StoredRow {
    const { entries, header } = this.index;
    const row = this.#store.read(entries[rank * 3 + 2]! >>> 0);
    hashOfRow(row.view, row.start, row.end, header.hashSeed, this.#hash);
    const same = this.#hash[0] === entries[rank * 3] && this.#hash[1] === entries[rank * 3 + 1];
    if (!same || keyAt(row.bytes, row.start, row.end) !== key) {
      throw new CompareError('index_damaged', 'A row of the row store does not match its index: rebuild it.');
    }
    return row;
  }

  /** Returns the row of a key, or null if the edition does not have it. @throws CompareError `index_damaged` */
  find(key: number): StoredRow | null {
    const rank = this.index.rankOf(key);
    return rank < 0 ? null : this.read(key, rank);
  }

  close(): void {
    this.#store.close();
  }
}

/**
 * A position in the store has 32 bits, so the store has at most 4 GiB. This is enough for a first load and three
 * years with 2.5 MB of changed rows a day. `append` then throws `row_store_full`, and a re-baseline begins a new store.
 */
const maxRowStoreBytes = 2 ** 32 - 1;

/** One row of the store. It is `[start, end)` of `bytes`, without its line end, and valid until the next read. */
export interface StoredRow {
  bytes: Uint8Array;
  view: DataView;
  start: number;
  end: number;
}

/** Makes a row that the caller fills. With 0 bytes it has no memory, and the caller points it to other memory. */
export function emptyRow(memoryBytes: number): StoredRow {
  const bytes = new Uint8Array(memoryBytes);
  return { bytes, view: new DataView(bytes.buffer), start: 0, end: 0 };
}

const widestWindowBytes = 1 << 20;
const narrowWindowBytes = maxLineBytes + 1;

/**
 * Reads rows from an edition's segments as if they were one file. A segment is a file of rows in RUC order and never
 * changes.
 */
class RowStore {
  readonly #segments: { from: number; bytes: number; file: number; name: string }[] = [];
  readonly #memory = new Uint8Array(widestWindowBytes + slackBytes);
  readonly #row: StoredRow = { bytes: this.#memory, view: new DataView(this.#memory.buffer), start: 0, end: 0 };
  #windowFrom = 0;
  #windowTo = 0;
  #windowBytes = narrowWindowBytes;

  /** @throws CompareError `index_missing` when a segment is not there */
  constructor(folder: string, register: RegisterName, segments: IndexHeader['segments']) {
    let from = 0;
    for (const { changeFileSha256, bytes } of segments) {
      const name = workFileName(register, changeFileSha256, 'rows');
      try {
        this.#segments.push({ from, bytes, file: openSync(join(folder, name), 'r'), name });
      } catch (error) {
        this.close();
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        throw new CompareError('index_missing', `The working file ${name} is not there: rebuild it from the archive.`);
      }
      from += bytes;
    }
  }

  expect(density: 'many' | 'few'): void {
    this.#windowBytes = density === 'many' ? widestWindowBytes : narrowWindowBytes;
  }

  read(position: number, windowBytes = this.#windowBytes): StoredRow {
    const row = this.#row;
    if (position >= this.#windowFrom && position < this.#windowTo) {
      row.start = position - this.#windowFrom;
      row.end = this.#memory.indexOf(lineFeed, row.start);
      if (row.end >= 0 && row.end < this.#windowTo - this.#windowFrom) return row;
    }
    const segment = this.#segmentAt(position);
    const length = Math.min(windowBytes, segment.from + segment.bytes - position);
    readFully(segment.file, this.#memory, 0, length, position - segment.from);
    this.#windowFrom = position;
    this.#windowTo = position + length;
    row.start = 0;
    row.end = this.#memory.indexOf(lineFeed);
    if (row.end >= 0 && row.end < length) return row;
    // The narrow window is as long as the longest line of a file. A row may be longer, because cells that were empty in
    // its line keep their texts from earlier lines.
    if (windowBytes === narrowWindowBytes) return this.read(position, widestWindowBytes);
    throw this.#damaged(segment.name);
  }

  close(): void {
    for (const { file } of this.#segments.splice(0)) closeSync(file);
  }

  #segmentAt(position: number): { from: number; bytes: number; file: number; name: string } {
    let low = 0;
    let high = this.#segments.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#segments[middle]!.from <= position) low = middle;
      else high = middle - 1;
    }
    const segment = this.#segments[low];
    if (segment === undefined || position >= segment.from + segment.bytes) throw this.#damaged('as a whole');
    return segment;
  }

  #damaged(name: string): CompareError {
    return new CompareError('index_damaged', `The row store (${name}) does not hold what its index says: rebuild it.`);
  }
}

export class SegmentWriter {
  readonly #file: AttemptFile;
  readonly #buffer = new Uint8Array(widestWindowBytes + slackBytes);
  readonly #view = new DataView(this.#buffer.buffer);
  /** Position at which this segment begins when all segments are joined. */
  readonly #from: number;
  #used = 0;

  constructor(folder: string, attempt: string, segments: IndexHeader['segments']) {
    this.#from = segments.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#file = new AttemptFile(folder, attempt);
  }

  get bytes(): number {
    return this.#file.bytes + this.#used;
  }

  /**
   * Appends a row and its line end to the segment. Returns the row's position in the whole row store.
   * @throws CompareError `row_store_full`
   */
  append({ view, start, end }: StoredRow): number {
    const length = end - start;
    const position = this.#from + this.bytes;
    if (position + length >= maxRowStoreBytes) {
      throw new CompareError(
        'row_store_full',
        `The row store has reached ${position} bytes: a re-baseline begins it anew.`,
      );
    }
    if (this.#used + length + 1 > widestWindowBytes) this.#flush();
    const to = this.#view;
    let at = this.#used;
    for (let from = start; from < end; from += 4, at += 4) to.setInt32(at, view.getInt32(from, true), true);
    this.#used += length;
    this.#buffer[this.#used++] = lineFeed;
    return position;
  }

  /**
   * Makes the segment durable under this name. Callers must do this before they finish the index that names the
   * segment. Otherwise a crash could leave an index whose segment is missing.
   */
  finish(name: string): void {
    this.#flush();
    this.#file.finish(name);
  }

  discard(): void {
    this.#file.discard();
  }

  #flush(): void {
    this.#file.append(this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }
}
