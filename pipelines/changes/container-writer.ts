import { createHash } from 'node:crypto';
import { AttemptFile } from '../runtime/durable-files.ts';
import { encodeLong } from './avro.ts';
import { containerMagic } from './change-file.ts';

/** Uncompressed bytes after which a block is closed. */
const blockBytes = 256 * 1024;
/** Longest record: two rows of 1,000 bytes, each byte three in UTF-8, and the numbers around them. */
const maxRecordBytes = 8 * 1024;

export interface ContainerFile {
  path: string;
  sha256: string;
  bytes: number;
}

/**
 * Writes an Avro object container file (specification 1.11, "Object Container Files") without compression. Callers
 * encode records straight into `buffer` from `at` on; the file's hash is taken as it is written.
 */
export class ContainerWriter {
  readonly buffer = new Uint8Array(blockBytes + maxRecordBytes);
  at = 0;
  #count = 0;
  readonly #file: AttemptFile;
  readonly #sync: Uint8Array;
  readonly #hash = createHash('sha256');

  /**
   * `sync`: 16 bytes between blocks. Callers derive them from what the file holds, so that equal runs give equal bytes.
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

  /** Adds a record that was encoded elsewhere, of any length. */
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

  /** Call after each record; leaves room in `buffer` for the next. */
  endRecord(): void {
    this.#count += 1;
    if (this.at >= blockBytes) this.#endBlock();
  }

  /**
   * Makes the file durable under a name made from its hash. Dying before the rename leaves an attempt that nobody
   * reads.
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
