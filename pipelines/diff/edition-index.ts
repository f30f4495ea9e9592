import { closeSync, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { RegisterName } from '../../schemas/registers.ts';
import type { RowBatch } from '../registers/padron-reducido/scan.ts';
import { bucketBits, bucketCount, keysPerBucket, maxBuckets, popCount, wordsPerBucket } from './buckets.ts';
import { CompareError } from './errors.ts';
import { decodeHeader, headerBytes, type IndexHeader } from './index-header.ts';
import { readFully } from './spill.ts';
import { workFileName } from './work-files.ts';

export const bytesPerEntry = 12;

/**
 * The index of one edition in memory: which RUCs it has, and for each its row's hash and place in the row store. A
 * bitmap with ranks over all possible RUCs is a perfect hash without a table: membership and position in one cache line.
 * Some 290 MB for 18.34 million rows.
 */
export class EditionIndex {
  readonly header: IndexHeader;
  /** Pairs (32 bits of the bitmap, rank of the first); pair block 0 is the range without rows. */
  readonly table: Uint32Array;
  /** Range of keys → its first pair; 0 for those without rows and for what is no range. */
  readonly firstPair: Int32Array;
  /** Range of keys → rank of its first row; one more at the end. */
  readonly firstRank: Int32Array;
  /** By rank: hash lane 1, hash lane 2, position in the row store. */
  readonly entries: Int32Array;

  constructor(header: IndexHeader) {
    this.header = header;
    const used = header.buckets.filter((rows) => rows > 0).length;
    this.table = new Uint32Array((used + 1) * wordsPerBucket * 2);
    this.firstPair = new Int32Array(maxBuckets);
    this.firstRank = new Int32Array(bucketCount + 1);
    this.entries = new Int32Array(header.rows * 3);
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

  /** Rank of a key, or -1. */
  rankOf(key: number): number {
    const pair = (this.firstPair[key >>> bucketBits]! + ((key >>> 5) & (wordsPerBucket - 1))) * 2;
    const bits = this.table[pair]!;
    if (((bits >>> (key & 31)) & 1) === 0) return -1;
    return this.table[pair + 1]! + popCount(bits & ((1 << (key & 31)) - 1));
  }

  /** How many rows have a smaller key. */
  rankBelow(key: number): number {
    const bucket = key >>> bucketBits;
    // The block of ranges without rows has no ranks of its own.
    if (this.firstPair[bucket] === 0) return this.firstRank[bucket]!;
    const pair = (this.firstPair[bucket]! + ((key >>> 5) & (wordsPerBucket - 1))) * 2;
    return this.table[pair + 1]! + popCount(this.table[pair]! & ((1 << (key & 31)) - 1));
  }

  /**
   * Ranks of the keys of rows `[from, to)` into `ranks` (from 0 on), -1 where there is none. A loop of its own without branches, so that the
   * processor has many cache misses in flight at once. `noKey` falls into the block of ranges without rows.
   */
  lookUp(batch: RowBatch, from: number, to: number, ranks: Int32Array): void {
    const { table, firstPair } = this;
    const { keys } = batch;
    for (let row = from; row < to; row += 1) {
      const key = keys[row]! | 0;
      const range = (key >>> bucketBits) & (maxBuckets - 1);
      const pair = (firstPair[range]! + ((key >>> 5) & (wordsPerBucket - 1))) << 1;
      const bits = table[pair]! | 0;
      const present = (bits >>> (key & 31)) & 1;
      const rank = (table[pair + 1]! | 0) + popCount(bits & ((1 << (key & 31)) - 1));
      // All bits set where the key is absent.
      ranks[row - from] = rank | (present - 1);
    }
  }

  /**
   * Zero in `differs` where a known key's hash is the batch's. Nothing here depends on what is read, so that the
   * processor has many cache misses in flight at once; deciding in this loop made it twice as slow.
   */
  compareHashes(batch: RowBatch, from: number, to: number, ranks: Int32Array, differs: Int32Array): void {
    const { entries } = this;
    const { hash1, hash2 } = batch;
    // An empty base knows no key and has no entry 0 to read.
    if (entries.length === 0) return;
    for (let row = from; row < to; row += 1) {
      const rank = ranks[row - from]!;
      // Entry 0 for the absent.
      const at = Math.imul(rank & ~(rank >> 31), 3);
      differs[row - from] = (entries[at]! ^ hash1[row]!) | (entries[at + 1]! ^ hash2[row]!);
    }
  }

  /** Keys of a range whose rank is not marked in `seen`, ascending. */
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

function allSeen(seen: Int32Array, from: number, to: number): boolean {
  for (let rank = from; rank < to; ) {
    if ((rank & 31) === 0 && rank + 32 <= to && seen[rank >>> 5] === -1) rank += 32;
    else if ((seen[rank >>> 5]! >>> (rank & 31)) & 1) rank += 1;
    else return false;
  }
  return true;
}

/** Opens the index named by register and change-file hash. Errors: `index_missing`, `index_damaged`. */
export function openIndex(folder: string, register: RegisterName, changeFileSha256: string): EditionIndex {
  return withIndexFile(folder, register, changeFileSha256, readIndex);
}

/** Its header alone, in a millisecond. Errors: the same. */
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

function readIndex(file: number, name: string, changeFileSha256: string): EditionIndex {
  const header = readHeader(file, name, changeFileSha256);
  const index = new EditionIndex(header);
  if (readBody(file, index) !== header.bodyCrc32) throw damagedIndex(name, 'does not match its checksum');
  return index;
}

/** Reads bitmap and entries of each used range; returns the checksum of all bytes read. */
function readBody(file: number, index: EditionIndex): number {
  const { table, firstPair, firstRank, header } = index;
  const words = new Uint32Array(wordsPerBucket);
  const wordBytes = new Uint8Array(words.buffer);
  const entryBytes = new Uint8Array(index.entries.buffer);
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
