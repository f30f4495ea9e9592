import { crc32 } from 'node:zlib';
import { AttemptFile } from '../../runtime/durable-files.ts';
import { bytesPerEntry, type EditionIndex } from './edition-index.ts';
import {
  bucketCount,
  encodeHeader,
  headerBytes,
  type IndexHeader,
  keysPerBucket,
  wordsPerBucket,
} from './index-format.ts';

/** New and removed index entries of one range of keys, in key order. */
export class BucketEdits {
  keys = new Uint32Array(1024);
  /** 1 where the key gets a new entry, 0 where its entry is removed. */
  sets = new Uint8Array(1024);
  entries = new Int32Array(3 * 1024);
  count = 0;

  clear(): void {
    this.count = 0;
  }

  set(key: number, hash1: number, hash2: number, position: number): void {
    const at = this.#add(key, 1);
    this.entries[at * 3] = hash1;
    this.entries[at * 3 + 1] = hash2;
    this.entries[at * 3 + 2] = position | 0;
  }

  remove(key: number): void {
    this.#add(key, 0);
  }

  #add(key: number, sets: number): number {
    if (this.count === this.keys.length) {
      const grow = <T extends Uint32Array | Uint8Array | Int32Array>(old: T, made: T): T => {
        made.set(old);
        return made;
      };
      const size = this.count * 2;
      this.keys = grow(this.keys, new Uint32Array(size));
      this.sets = grow(this.sets, new Uint8Array(size));
      this.entries = grow(this.entries, new Int32Array(size * 3));
    }
    this.keys[this.count] = key;
    this.sets[this.count] = sets;
    this.count += 1;
    return this.count - 1;
  }
}

/**
 * Writes an index, range by range, from the base's index and the edits. Entries are in RUC order, so all unchanged
 * entries between two edits are copied in one piece.
 */
export class IndexBuilder {
  readonly #base: EditionIndex | null;
  readonly #file: AttemptFile;
  readonly #buckets: number[] = [];
  #crc32 = 0;
  #rows = 0;
  #words = new Uint32Array(wordsPerBucket);
  #entries = new Int32Array(0);

  constructor(folder: string, attempt: string, base: EditionIndex | null) {
    this.#base = base;
    this.#file = new AttemptFile(folder, attempt);
    // This leaves room for the header, which is written last.
    this.#file.append(new Uint8Array(headerBytes));
  }

  /** Adds the next range of keys. It must be called once for each range, in order. */
  addBucket(edits: BucketEdits): void {
    const bucket = this.#buckets.length;
    const base = this.#base;
    const from = base?.firstRank[bucket] ?? 0;
    const to = base?.firstRank[bucket + 1] ?? 0;
    if (to === from && edits.count === 0) {
      this.#buckets.push(0);
      return;
    }
    const words = this.#words;
    words.fill(0);
    if (base !== null && to > from) {
      const pair = base.firstPair[bucket]! * 2;
      for (let word = 0; word < wordsPerBucket; word += 1) words[word] = base.table[pair + word * 2]!;
    }
    const most = (to - from + edits.count) * 3;
    if (this.#entries.length < most) this.#entries = new Int32Array(Math.ceil(most * 1.25));
    const rows = this.#merge(edits, from, to, bucket * keysPerBucket);
    this.#buckets.push(rows);
    this.#rows += rows;
    if (rows === 0) return;
    this.#write(new Uint8Array(words.buffer));
    this.#write(new Uint8Array(this.#entries.buffer, 0, rows * bytesPerEntry));
  }

  /** Completes `header` with what the builder counted, and makes the index durable under its final name. */
  finish(
    name: string,
    header: Omit<IndexHeader, 'format' | 'rows' | 'buckets' | 'bodyBytes' | 'bodyCrc32'>,
  ): IndexHeader {
    if (this.#buckets.length !== bucketCount) throw new Error('not every range was added');
    const whole: IndexHeader = {
      format: 'padron-index-1',
      ...header,
      rows: this.#rows,
      buckets: this.#buckets,
      bodyBytes: this.#file.bytes - headerBytes,
      bodyCrc32: this.#crc32,
    };
    this.#file.writeAt(encodeHeader(whole), 0);
    this.#file.finish(name);
    return whole;
  }

  /** Removes the file unless it is finished. */
  discard(): void {
    this.#file.discard();
  }

  #merge(edits: BucketEdits, from: number, to: number, firstKey: number): number {
    const base = this.#base;
    const [words, out] = [this.#words, this.#entries];
    let rank = from;
    let at = 0;
    const copyUntil = (end: number) => {
      if (base === null || end <= rank) return;
      out.set(base.entries.subarray(rank * 3, end * 3), at);
      at += (end - rank) * 3;
      rank = end;
    };
    for (let edit = 0; edit < edits.count; edit += 1) {
      const key = edits.keys[edit]!;
      const word = (key - firstKey) >>> 5;
      const bit = 1 << (key & 31);
      const known = (words[word]! & bit) !== 0;
      if (base !== null) copyUntil(base.rankBelow(key));
      if (known) rank += 1;
      if (edits.sets[edit] === 1) {
        out[at] = edits.entries[edit * 3]!;
        out[at + 1] = edits.entries[edit * 3 + 1]!;
        out[at + 2] = edits.entries[edit * 3 + 2]!;
        at += 3;
        words[word]! |= bit;
      } else words[word]! &= ~bit;
    }
    copyUntil(to);
    return at / 3;
  }

  #write(bytes: Uint8Array): void {
    this.#file.append(bytes);
    this.#crc32 = crc32(bytes, this.#crc32);
  }
}
