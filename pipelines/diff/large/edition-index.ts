import { closeSync, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { RegisterName } from '../../../schemas/registers.ts';
import { CompareError } from '../../changes/errors.ts';
import { requireBase } from '../edition.ts';
import type { KernelMemory, MemoryRange } from '../kernel/kernel.ts';
import { workFileName } from '../work-files.ts';
import {
  bucketBits,
  bucketCount,
  decodeHeader,
  headerBytes,
  type IndexHeader,
  keysPerBucket,
  maxBuckets,
  popCount,
  wordsPerBucket,
} from './index-format.ts';
import { columnBytes, maxRows, type Page } from './pages.ts';
import { readFully } from './spill.ts';

export const bytesPerEntry = 12;

/** Where an index takes its memory from: a `KernelMemory` if a `RowMatcher` needs it, else the heap. */
export interface IndexMemory {
  take(bytes: number): MemoryRange;
}

const ordinaryMemory: IndexMemory = { take: (bytes) => ({ buffer: new ArrayBuffer(bytes), at: 0 }) };

/**
 * The index of one edition in memory: for each RUC, the hash of its row and the row's position in the row store. The
 * rank of a RUC is the number of smaller RUCs in the index. A bitmap has one bit for each possible RUC. Next to each
 * word of the bitmap stands the rank of the word's first RUC, so a look-up of a rank reads a single cache line. The
 * index takes some 290 MB for 18.34 million rows.
 */
export class EditionIndex {
  readonly header: IndexHeader;
  /**
   * Pairs of numbers: a word of 32 bits of the bitmap, and the rank of the word's first RUC. All buckets (ranges of
   * keys, see index-format.ts) without rows share the first block of pairs.
   */
  readonly table: Uint32Array;
  /**
   * For each bucket, the number of its first pair in `table`. It is 0 for a bucket without rows, and for the bucket of
   * `noKey` (the key of a bad line).
   */
  readonly firstPair: Int32Array;
  /** For each bucket, the rank of its first row. The last element, after all buckets, is the number of all rows. */
  readonly firstRank: Int32Array;
  /** Three numbers per row, in order of RUC: the two lanes (halves) of its hash, and its position in the row store. */
  readonly entries: Int32Array;

  constructor(header: IndexHeader, memory: IndexMemory) {
    this.header = header;
    const used = header.buckets.filter((rows) => rows > 0).length;
    const pairs = memory.take((used + 1) * wordsPerBucket * 8);
    this.table = new Uint32Array(pairs.buffer, pairs.at, (used + 1) * wordsPerBucket * 2);
    const firstPairs = memory.take(maxBuckets * 4);
    this.firstPair = new Int32Array(firstPairs.buffer, firstPairs.at, maxBuckets);
    this.firstRank = new Int32Array(bucketCount + 1);
    // For a key that the index does not have, the kernel reads the first entry. An index without rows has one too.
    const entries = memory.take(Math.max(header.rows, 1) * bytesPerEntry);
    this.entries = new Int32Array(entries.buffer, entries.at, header.rows * 3);
    let rank = 0;
    let pair = wordsPerBucket;
    for (let bucket = 0; bucket < bucketCount; bucket += 1) {
      this.firstRank[bucket] = rank;
      if (header.buckets[bucket]! === 0) continue;
      this.firstPair[bucket] = pair;
      pair += wordsPerBucket;
      rank += header.buckets[bucket]!;
    }
    this.firstRank[bucketCount] = rank;
  }

  rowsIn(bucket: number): number {
    return this.firstRank[bucket + 1]! - this.firstRank[bucket]!;
  }

  /** Returns the key's rank (the number of rows with a smaller key), or -1 if the index does not have the key. */
  rankOf(key: number): number {
    const pair = (this.firstPair[key >>> bucketBits]! + ((key >>> 5) & (wordsPerBucket - 1))) * 2;
    const bits = this.table[pair]!;
    if (((bits >>> (key & 31)) & 1) === 0) return -1;
    return this.table[pair + 1]! + popCount(bits & ((1 << (key & 31)) - 1));
  }

  /** Returns the number of rows with a smaller key. */
  rankBelow(key: number): number {
    const bucket = key >>> bucketBits;
    // A bucket (range of keys) without rows has no pairs of its own. The block of pairs that all such buckets share
    // holds no ranks.
    if (this.firstPair[bucket] === 0) return this.firstRank[bucket]!;
    const pair = (this.firstPair[bucket]! + ((key >>> 5) & (wordsPerBucket - 1))) * 2;
    return this.table[pair + 1]! + popCount(this.table[pair]! & ((1 << (key & 31)) - 1));
  }

  /** Returns the keys of a bucket (a range of keys) whose ranks are not marked in `seen`, in ascending order. */
  unseenKeys(bucket: number, seen: Int32Array): number[] {
    const keys: number[] = [];
    if (allSeen(seen, this.firstRank[bucket]!, this.firstRank[bucket + 1]!)) return keys;
    const first = this.firstPair[bucket]! * 2;
    for (let word = 0; word < wordsPerBucket; word += 1) {
      let rank = this.table[first + word * 2 + 1]!;
      for (let bits = this.table[first + word * 2]!; bits !== 0; bits &= bits - 1, rank += 1) {
        if ((seen[rank >>> 5]! >>> (rank & 31)) & 1) continue;
        keys.push(bucket * keysPerBucket + word * 32 + (31 - Math.clz32(bits & -bits)));
      }
    }
    return keys;
  }
}

/** Number of rows that the kernel looks up together, as in assembly.ts. It keeps two numbers for each. */
const rowsPerBatch = 512;

/** Finds the rows of a publication that are not the same as in its base. The kernel compares the hashes of rows. */
export class RowMatcher {
  /** One bit for each rank (row number in RUC order) of the index, set when a row of the publication has the RUC. */
  readonly seen: Int32Array;
  readonly #listed: Uint32Array;
  /** Arguments of the kernel that are the same for every page. */
  readonly #index: number[];

  /** @param memory the memory that the index and all pages lie in */
  constructor(memory: KernelMemory, { header, firstPair, table, entries }: EditionIndex) {
    const words = (header.rows >>> 5) + 1;
    const seen = memory.take(words * 4);
    this.seen = new Int32Array(seen.buffer, seen.at, words);
    const listed = memory.take((maxRows + 1) * 4);
    this.#listed = new Uint32Array(listed.buffer, listed.at, maxRows + 1);
    const positions = [firstPair, table, entries, this.seen, this.#listed].map(({ byteOffset }) => byteOffset);
    this.#index = [bucketBits, maxBuckets, memory.take(2 * rowsPerBatch * 4).at, ...positions];
  }

  /**
   * Marks the rows' RUCs as seen and lists each row that differs from the index's row. It also lists a row whose RUC the
   * index does not have, and a row whose RUC an earlier row has too. An element is 2 × the row's number, plus 1 if the
   * index has the RUC and an earlier row has it too. The list is valid until the next call.
   */
  othersOf({ kernel, rows }: Page): Uint32Array {
    const listed = kernel.listOthers(rows.keys.byteOffset, columnBytes, rows.count, ...this.#index);
    return this.#listed.subarray(0, listed);
  }
}

function allSeen(seen: Int32Array, from: number, to: number): boolean {
  for (let rank = from; rank < to; ) {
    if ((rank & 31) === 0 && rank + 32 <= to && seen[rank >>> 5] === -1) rank += 32;
    else if ((seen[rank >>> 5]! >>> (rank & 31)) & 1) rank += 1;
    else return false;
  }
  return true;
}

/** Opens the index of a register's edition. @throws CompareError `index_missing`, `index_damaged` */
export function openIndex(
  folder: string,
  register: RegisterName,
  changeFileSha256: string,
  memory: IndexMemory = ordinaryMemory,
): EditionIndex {
  return withIndexFile(folder, register, changeFileSha256, (...file) => readIndex(...file, memory));
}

/** Reads only the header of an index. @throws CompareError `index_missing`, `index_damaged` */
export function openIndexHeader(folder: string, register: RegisterName, changeFileSha256: string): IndexHeader {
  return withIndexFile(folder, register, changeFileSha256, readHeader);
}

function withIndexFile<T>(
  folder: string,
  register: RegisterName,
  changeFileSha256: string,
  read: (file: number, name: string, changeFileSha256: string) => T,
): T {
  const name = workFileName(register, changeFileSha256, 'index');
  let file: number;
  try {
    file = openSync(join(folder, name), 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new CompareError('index_missing', `The working index ${name} is not there: rebuild it from the archive.`);
  }
  try {
    return read(file, name, changeFileSha256);
  } finally {
    closeSync(file);
  }
}

function damagedIndex(name: string, why: string): CompareError {
  return new CompareError('index_damaged', `The working index ${name} ${why}: rebuild it.`);
}

function readHeader(file: number, name: string, changeFileSha256: string): IndexHeader {
  const { size } = fstatSync(file);
  if (size < headerBytes) throw damagedIndex(name, 'is cut off');
  const block = Buffer.alloc(headerBytes);
  readFully(file, block, 0, headerBytes, 0);
  const header = decodeHeader(block);
  if (header === null) throw damagedIndex(name, 'has no readable header');
  if (header.changeFileSha256 !== changeFileSha256) throw damagedIndex(name, 'belongs to another change file');
  if (size !== headerBytes + header.bodyBytes) throw damagedIndex(name, 'has the wrong size');
  if (header.buckets.reduce((sum, rows) => sum + rows, 0) !== header.rows)
    throw damagedIndex(name, 'counts its rows wrongly');
  return header;
}

function readIndex(file: number, name: string, changeFileSha256: string, memory: IndexMemory): EditionIndex {
  const header = readHeader(file, name, changeFileSha256);
  const index = new EditionIndex(header, memory);
  if (readBody(file, index) !== header.bodyCrc32) throw damagedIndex(name, 'does not match its checksum');
  return index;
}

/** Reads the bitmap and the entries of each bucket (range of keys) that has rows. Returns the checksum of all bytes. */
function readBody(file: number, index: EditionIndex): number {
  const { table, firstPair, firstRank, header } = index;
  const words = new Uint32Array(wordsPerBucket);
  const wordBytes = new Uint8Array(words.buffer);
  const entryBytes = new Uint8Array(index.entries.buffer, index.entries.byteOffset, index.entries.byteLength);
  let position = headerBytes;
  let sum = 0;
  for (let bucket = 0; bucket < bucketCount; bucket += 1) {
    if (header.buckets[bucket]! === 0) continue;
    position += readFully(file, wordBytes, 0, wordBytes.length, position);
    sum = crc32(wordBytes, sum);
    let rank = firstRank[bucket]!;
    for (let word = 0, pair = firstPair[bucket]! * 2; word < wordsPerBucket; word += 1, pair += 2) {
      table[pair] = words[word]!;
      table[pair + 1] = rank;
      rank += popCount(words[word]!);
    }
    const from = firstRank[bucket]! * bytesPerEntry;
    const length = header.buckets[bucket]! * bytesPerEntry;
    position += readFully(file, entryBytes, from, length, position);
    sum = crc32(entryBytes.subarray(from, from + length), sum);
  }
  return sum;
}

/**
 * Opens the head's index and checks that the new edition is the next one.
 * @throws CompareError `index_missing`, `index_damaged`
 */
export function openBase(
  input: { workDir: string; register: RegisterName; edition: number },
  base: { edition: number; changeFileSha256: string },
  memory: IndexMemory = ordinaryMemory,
): EditionIndex {
  const index = openIndex(input.workDir, input.register, base.changeFileSha256, memory);
  requireBase(index.header, base, input.edition);
  return index;
}
