import { createHash } from 'node:crypto';
import { AttemptFile } from '../runtime/durable-files.ts';
import { encodeLong } from './avro.ts';
import { containerMagic } from './change-file.ts';

/** The writer closes a block when its records have at least this many bytes. */
const blockBytes = 256 * 1024;
/**
 * Largest encoded record: two rows of `maxRowBytes` (diff/large/scan.ts) and some numbers. A byte of Windows-1252 takes
 * at most three bytes in UTF-8: 2 rows × 4,000 bytes × 3 = 24,000 bytes.
 */
const maxRecordBytes = 32 * 1024;

export interface ContainerFile {
  path: string;
  sha256: string;
  bytes: number;
}

/**
 * Writes an Avro object container file (specification 1.11, "Object Container Files") without compression, and hashes
 * it. For each record, the caller encodes into `buffer` at `at`, moves `at` to the record's end, and calls `endRecord`.
 */
export class ContainerWriter {
  readonly buffer = new Uint8Array(blockBytes + maxRecordBytes);
  at = 0;
  #count = 0;
  readonly #file: AttemptFile;
  readonly #sync: Uint8Array;
  readonly #hash = createHash('sha256');

  /**
   * `sync`: the 16 bytes after each block. Callers derive them from facts about the edition, so that a repeated run
   * writes the same bytes.
   */
  constructor(folder: string, attempt: string, schema: unknown, metadata: Record<string, string>, sync: Uint8Array) {
    this.#sync = sync;
    this.#file = new AttemptFile(folder, attempt);
    const all: Record<string, string> = { 'avro.schema': JSON.stringify(schema), 'avro.codec': 'null', ...metadata };
    const text = (value: string) => [encodeLong(Buffer.byteLength(value)), Buffer.from(value, 'utf8')];
    const pairs = Object.entries(all).flatMap(([key, value]) => [...text(key), ...text(value)]);
    const magic = Buffer.from(containerMagic, 'latin1');
    this.#write(Buffer.concat([magic, encodeLong(Object.keys(all).length), ...pairs, encodeLong(0), sync]));
  }

  /** Adds a record that was encoded outside `buffer`. The record may have any length. */
  append(record: Uint8Array): void {
    if (record.length > this.buffer.length - this.at) this.#endBlock();
    if (record.length > this.buffer.length) {
      this.#writeBlock(1, record);
      return;
    }
    this.buffer.set(record, this.at);
    this.at += record.length;
    this.endRecord();
  }

  /** Call this after each record that was encoded into `buffer`. Afterwards `buffer` has room for the next record. */
  endRecord(): void {
    this.#count += 1;
    if (this.at >= blockBytes) this.#endBlock();
  }

  /**
   * Makes the file durable under a name made from its hash. If the process dies before the rename, it leaves a
   * temporary file that nobody reads.
   */
  finish(nameOf: (sha256: string) => string): ContainerFile {
    this.#endBlock();
    const sha256 = this.#hash.digest('hex');
    return { path: this.#file.finish(nameOf(sha256)), sha256, bytes: this.#file.bytes };
  }

  /** Removes the file unless it is finished. */
  discard(): void {
    this.#file.discard();
  }

  #endBlock(): void {
    if (this.#count === 0) return;
    this.#writeBlock(this.#count, this.buffer.subarray(0, this.at));
    this.#count = 0;
    this.at = 0;
  }

  #writeBlock(count: number, records: Uint8Array): void {
    this.#write(Buffer.concat([encodeLong(count), encodeLong(records.length)]));
    this.#write(records);
    this.#write(this.#sync);
  }

  #write(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#file.append(bytes);
  }
}
