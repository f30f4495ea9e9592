import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { CompareError } from '../../changes/errors.ts';
import { bucketBits, bucketCount } from './index-format.ts';
import { slackBytes } from './scan.ts';

const blockBytes = 64 * 1024;
/** Most bytes of rows in a bucket (a range of RUCs). Only a publication that repeats its rows many times has more. */
const maxBucketBytes = 512 * 2 ** 20;
/** Bytes of an entry before its row: key (4), line number (4) and length of the row (2). The row has no line end. */
const headerBytes = 10;

export interface SpilledBucket {
  bytes: Uint8Array;
  view: DataView;
  /** For each row, the position of its first byte in `bytes`. */
  starts: Int32Array;
  ends: Int32Array;
  keys: Uint32Array;
  lines: Uint32Array;
  count: number;
}

/**
 * Holds rows for `Merge`, by bucket (range of keys) and in file order within a bucket. On a normal day the rows of each
 * bucket fit into its block of memory. If most rows differ, as in a first edition, full blocks go to a temporary file.
 */
export class Spill {
  readonly #path: string;
  readonly #arena = new Uint8Array(bucketCount * blockBytes + slackBytes);
  readonly #view = new DataView(this.#arena.buffer);
  readonly #used = new Int32Array(bucketCount);
  readonly #counts = new Int32Array(bucketCount);
  readonly #blocks: { position: number; bytes: number }[][] = Array.from({ length: bucketCount }, () => []);
  #file: number | null = null;
  #fileBytes = 0;
  #bucket: SpilledBucket = emptyBucket(0, 0);

  constructor(path: string) {
    this.#path = path;
  }

  append(key: number, line: number, view: DataView, start: number, end: number): void {
    const bucket = key >>> bucketBits;
    const length = end - start;
    let at = this.#used[bucket]!;
    if (at + headerBytes + length + 4 > blockBytes) {
      this.#flush(bucket);
      at = 0;
    }
    const to = this.#view;
    let target = bucket * blockBytes + at;
    to.setUint32(target, key, true);
    to.setUint32(target + 4, line, true);
    to.setUint16(target + 8, length, true);
    target += headerBytes;
    // Four bytes at a time are faster than a call of `set`. The last copy may go beyond the row, so the row's memory
    // and `#arena` have `slackBytes` at their ends.
    for (let from = start; from < end; from += 4, target += 4) to.setInt32(target, view.getInt32(from, true), true);
    this.#used[bucket] = at + headerBytes + length;
    this.#counts[bucket]! += 1;
  }

  countOf(bucket: number): number {
    return this.#counts[bucket]!;
  }

  /** Rows of a bucket, valid until the next call. @throws CompareError `zip_size` if they exceed `maxBucketBytes` */
  read(bucket: number): SpilledBucket {
    const count = this.#counts[bucket]!;
    const blocks = this.#blocks[bucket]!;
    const bytes = blocks.reduce((sum, block) => sum + block.bytes, this.#used[bucket]!);
    if (bytes > maxBucketBytes) {
      const limit = `${maxBucketBytes} bytes`;
      throw new CompareError(
        'zip_size',
        `One range of RUCs holds more than ${limit} of rows: the file repeats itself.`,
      );
    }
    if (this.#bucket.bytes.length < bytes + slackBytes || this.#bucket.keys.length < count) {
      this.#bucket = emptyBucket(Math.ceil(bytes * 1.25), Math.ceil(count * 1.25));
    }
    const into = this.#bucket;
    let at = 0;
    for (const block of blocks) at += readFully(this.#file!, into.bytes, at, block.bytes, block.position);
    const rest = bucket * blockBytes;
    into.bytes.set(this.#arena.subarray(rest, rest + this.#used[bucket]!), at);
    into.count = count;
    for (let entry = 0, position = 0; entry < count; entry += 1) {
      into.keys[entry] = into.view.getUint32(position, true);
      into.lines[entry] = into.view.getUint32(position + 4, true);
      const start = position + headerBytes;
      position = start + into.view.getUint16(position + 8, true);
      into.starts[entry] = start;
      into.ends[entry] = position;
    }
    return into;
  }

  close(): void {
    if (this.#file === null) return;
    closeSync(this.#file);
    rmSync(this.#path, { force: true });
    this.#file = null;
  }

  #flush(bucket: number): void {
    // If the process dies, this attempt's temporary file is left and a later comparison removes it.
    this.#file ??= openSync(this.#path, 'w+');
    const bytes = this.#used[bucket]!;
    const from = bucket * blockBytes;
    for (let done = 0; done < bytes; ) {
      done += writeSync(this.#file, this.#arena, from + done, bytes - done, this.#fileBytes + done);
    }
    this.#blocks[bucket]!.push({ position: this.#fileBytes, bytes });
    this.#fileBytes += bytes;
    this.#used[bucket] = 0;
  }
}

function emptyBucket(bytes: number, entries: number): SpilledBucket {
  const memory = new Uint8Array(bytes + slackBytes);
  return {
    bytes: memory,
    view: new DataView(memory.buffer),
    starts: new Int32Array(entries),
    ends: new Int32Array(entries),
    keys: new Uint32Array(entries),
    lines: new Uint32Array(entries),
    count: 0,
  };
}

/** Reads exactly `length` bytes and returns `length`. @throws CompareError `index_damaged` when the file is shorter */
export function readFully(file: number, into: Uint8Array, at: number, length: number, position: number): number {
  for (let done = 0; done < length; ) {
    const read = readSync(file, into, at + done, length - done, position + done);
    if (read === 0) throw new CompareError('index_damaged', 'A working file is shorter than it should be: rebuild it.');
    done += read;
  }
  return length;
}
