import { crc32 } from 'node:zlib';
import xxhash from 'xxhash-wasm';
import { skipVarint } from '../changes/avro.ts';
import { RowBinaryWriter } from '../consumers/row-binary.ts';
import type { ChangeRecords } from './change-records.ts';

const { h32Raw } = await xxhash();

/**
 * Two 32-bit hashes of a row, xxHash32 and CRC32, which ClickHouse can compute too. They find damage, not forgery.
 * - Two rows of one key are compared by both hashes.
 * - Two sets of rows are compared by their number and the sums of both hashes. The order of the rows does not count.
 * An altered row, or a set with altered rows, goes unnoticed with a probability of about 2⁻⁶⁴.
 */
export class RowHash {
  xx = 0;
  crc = 0;
  readonly #texts = new RowBinaryWriter(64 * 1024);
  #bytes = Buffer.alloc(64 * 1024);

  /** Hashes a row of the state. `stateText` in stored.ts makes the same bytes in SQL. */
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

  /** Hashes a row of the history. `historyText` in stored.ts makes the same bytes in SQL. */
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

  /**
   * Hashes a row that is given as text: a row of the index of names or of an overlay. For a row of an overlay,
   * `ofCells` gives the same result for the same cells.
   */
  ofText(text: string): string {
    const bytes = Buffer.from(text, 'utf8');
    this.#hash(bytes, 0, bytes.length);
    return `${this.xx}.${this.crc}`;
  }

  /** Hashes the cells that begin at `cellsAt`, without the record's key and version. */
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
    // `>=` and not `>`, because one more byte must fit: the mark of a missing row.
    if (end >= this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], 2 * end);
    bytes.copy(this.#bytes, at, start);
    return end;
  }

  #hash(bytes: Buffer, start: number, end: number): void {
    const hashed = bytes.subarray(start, end);
    this.xx = h32Raw(hashed);
    this.crc = crc32(hashed);
  }
}

/** Summary of a set of rows in any order: the number of rows and the sums of both hashes. */
export interface Fingerprint {
  rows: number;
  xx: bigint;
  crc: bigint;
}

export function isSame(one: Fingerprint, other: Fingerprint): boolean {
  return one.rows === other.rows && one.xx === other.xx && one.crc === other.crc;
}

/** After this many rows the sums of 32-bit hashes move into bigints, because a number is exact only up to 2⁵³. */
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
