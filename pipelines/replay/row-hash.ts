import { crc32 } from 'node:zlib';
import { skipVarint } from '../changes/avro.ts';
import { RowBinaryWriter } from '../consumers/row-binary.ts';
import type { ChangeRecords } from './change-records.ts';

/**
 * Two hashes of 32 bits of a row that ClickHouse has as well (xxHash32, CRC32). Rows are compared by key on both, sets of rows
 * by their count and the sums of both, which no order changes. One altered row goes unseen with probability 2⁻⁶⁴, and so do
 * several in one range, unless somebody chooses them for it: this finds damage, not forgery.
 */
export class RowHash {
  xx = 0;
  crc = 0;
  readonly #texts = new RowBinaryWriter(64 * 1024);
  #bytes = Buffer.alloc(64 * 1024);

  /** Of a state row: `stateText` of sql.ts. */
  ofState(record: ChangeRecords): void {
    const texts = this.#texts;
    texts.clear();
    texts.jsonArray(record.cellsAt(record.afterAt), record.columns.length);
    texts.reserve(16);
    texts.uint64(record.stateKey);
    texts.uint64(record.edition);
    const bytes = texts.written();
    this.#hash(bytes, skipVarint(bytes, 0), bytes.length);
  }

  /** Of a history row: `historyText` of sql.ts. */
  ofHistory(record: ChangeRecords, opNumber: number): void {
    let at = this.#appendText(record, record.beforeAt, 0);
    at = this.#appendText(record, record.afterAt, at);
    const texts = this.#texts;
    texts.clear();
    texts.reserve(40);
    texts.uint64(record.stateKey);
    texts.uint64(record.edition);
    texts.uint8(opNumber);
    texts.uint64(record.detectedAt);
    texts.uint64(record.corrects ?? 0);
    at = this.#append(texts.written(), 0, at);
    this.#hash(this.#bytes, 0, at);
  }

  /** Of any text: a row of an overlay, as `ofState` without key and version, or a row of names. */
  ofText(text: string): string {
    const bytes = Buffer.from(text, 'utf8');
    this.#hash(bytes, 0, bytes.length);
    return `${this.xx}.${this.crc}`;
  }

  /** The same of a record's cells. */
  ofCells(record: ChangeRecords, cellsAt: number): string {
    const end = this.#appendText(record, cellsAt, 0);
    this.#hash(this.#bytes, 0, end);
    return `${this.xx}.${this.crc}`;
  }

  #appendText(record: ChangeRecords, cellsAt: number, at: number): number {
    if (cellsAt < 0) {
      this.#bytes[at] = 0x2d;
      return at + 1;
    }
    const texts = this.#texts;
    texts.clear();
    texts.jsonArray(record.cellsAt(cellsAt), record.columns.length);
    const bytes = texts.written();
    return this.#append(bytes, skipVarint(bytes, 0), at);
  }

  #append(bytes: Buffer, start: number, at: number): number {
    const end = at + bytes.length - start;
    // Room for the mark of a missing row as well.
    if (end >= this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], 2 * end);
    bytes.copy(this.#bytes, at, start);
    return end;
  }

  #hash(bytes: Buffer, start: number, end: number): void {
    this.xx = xxHash32(bytes, start, end);
    this.crc = crc32(bytes.subarray(start, end));
  }
}

const prime1 = 0x9e3779b1 | 0;
const prime2 = 0x85ebca77 | 0;
const prime3 = 0xc2b2ae3d | 0;
const prime4 = 0x27d4eb2f | 0;
const prime5 = 0x165667b1 | 0;

/** xxHash, 32 bits, seed 0 (Yann Collet's specification): the number that ClickHouse's xxHash32 gives. */
export function xxHash32(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let hash: number;
  if (end - start >= 16) {
    let lane1 = (prime1 + prime2) | 0;
    let lane2 = prime2;
    let lane3 = 0;
    let lane4 = -prime1 | 0;
    for (const last = end - 16; at <= last; at += 16) {
      lane1 = round(lane1, wordAt(bytes, at));
      lane2 = round(lane2, wordAt(bytes, at + 4));
      lane3 = round(lane3, wordAt(bytes, at + 8));
      lane4 = round(lane4, wordAt(bytes, at + 12));
    }
    hash = (rotate(lane1, 1) + rotate(lane2, 7) + rotate(lane3, 12) + rotate(lane4, 18)) | 0;
  } else {
    hash = prime5;
  }
  hash = (hash + end - start) | 0;
  for (; at + 4 <= end; at += 4) {
    hash = Math.imul(rotate((hash + Math.imul(wordAt(bytes, at), prime3)) | 0, 17), prime4);
  }
  for (; at < end; at += 1) {
    hash = Math.imul(rotate((hash + Math.imul(bytes[at]!, prime5)) | 0, 11), prime1);
  }
  hash = Math.imul(hash ^ (hash >>> 15), prime2);
  hash = Math.imul(hash ^ (hash >>> 13), prime3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function round(lane: number, word: number): number {
  return Math.imul(rotate((lane + Math.imul(word, prime2)) | 0, 13), prime1);
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function wordAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

/** A set of rows, whatever their order: how many, and the sums of both hashes. */
export interface Fingerprint {
  rows: number;
  xx: bigint;
  crc: bigint;
}

export function isSame(one: Fingerprint, other: Fingerprint): boolean {
  return one.rows === other.rows && one.xx === other.xx && one.crc === other.crc;
}

/** Numbers stay exact up to 2⁵³, so the sums of 32-bit hashes are carried over before that. */
const rowsPerCarry = 1 << 20;

export class FingerprintSum {
  rows = 0;
  #xx = 0;
  #crc = 0;
  #xxCarried = 0n;
  #crcCarried = 0n;

  add(xx: number, crc: number): void {
    this.rows += 1;
    this.#xx += xx;
    this.#crc += crc;
    if (this.rows % rowsPerCarry === 0) this.#carry();
  }

  sum(): Fingerprint {
    this.#carry();
    return { rows: this.rows, xx: this.#xxCarried, crc: this.#crcCarried };
  }

  #carry(): void {
    this.#xxCarried += BigInt(this.#xx);
    this.#crcCarried += BigInt(this.#crc);
    this.#xx = 0;
    this.#crc = 0;
  }
}
