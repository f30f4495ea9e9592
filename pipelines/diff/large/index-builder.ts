import { crc32 } from 'node:zlib';
import { AttemptFile } from '../../runtime/durable-files.ts';
import { bytesPerEntry, type EditionIndex } from './edition-index.ts';
import {
  bucketBits,
  bucketCount,
  encodeHeader,
  headerBytes,
  type IndexHeader,
  keysPerBucket,
  wordsPerBucket,
} from './index-format.ts';

/**
 * The numbers of an edit: the key, 1 to set the key's entry or 0 to remove it, the two lanes (halves) of the row's
 * hash, and the row's position in the row store.
 */
const numbersPerEdit = 5;

/**
 * Writes the index of a new edition: the base edition's index with the caller's edits (`set` and `remove`). The edits
 * must come in the order of keys. The index is written bucket by bucket (range of keys, see index-format.ts). Unchanged
 * entries between two edits are copied in one piece.
 */
export class IndexBuilder {
  readonly #base: EditionIndex | null;
  readonly #file: AttemptFile;
  /** Number of rows in each finished bucket. `#edits` has the edits of the bucket after these. */
  readonly #buckets: number[] = [];
  #edits = new Int32Array(1024 * numbersPerEdit);
  #used = 0;
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

  set(key: number, hash1: number, hash2: number, position: number): void {
    this.#edit(key, 1, hash1, hash2, position);
  }

  remove(key: number): void {
    this.#edit(key, 0, 0, 0, 0);
  }

  /** Completes `header` with what the builder counted, and makes the index durable under its final name. */
  finish(
    name: string,
    header: Omit<IndexHeader, 'format' | 'rows' | 'buckets' | 'bodyBytes' | 'bodyCrc32'>,
  ): IndexHeader {
    this.#endBucketsBelow(bucketCount);
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

  #edit(key: number, sets: 0 | 1, hash1: number, hash2: number, position: number): void {
    this.#endBucketsBelow(key >>> bucketBits);
    if (this.#used === this.#edits.length) {
      const grown = new Int32Array(this.#used * 2);
      grown.set(this.#edits);
      this.#edits = grown;
    }
    const edits = this.#edits;
    const at = this.#used;
    edits[at] = key;
    edits[at + 1] = sets;
    edits[at + 2] = hash1;
    edits[at + 3] = hash2;
    edits[at + 4] = position;
    this.#used = at + numbersPerEdit;
  }

  #endBucketsBelow(bucket: number): void {
    while (this.#buckets.length < bucket) {
      const rows = this.#writeBucket(this.#buckets.length);
      this.#buckets.push(rows);
      this.#rows += rows;
      this.#used = 0;
    }
  }

  /** Writes the bitmap and the entries of a bucket (a range of keys). Returns the number of rows in the bucket. */
  #writeBucket(bucket: number): number {
    const base = this.#base;
    const from = base?.firstRank[bucket] ?? 0;
    const to = base?.firstRank[bucket + 1] ?? 0;
    if (to === from && this.#used === 0) return 0;
    const words = this.#words;
    words.fill(0);
    if (base !== null && to > from) {
      const pair = base.firstPair[bucket]! * 2;
      for (let word = 0; word < wordsPerBucket; word += 1) words[word] = base.table[pair + word * 2]!;
    }
    const most = (to - from + this.#used / numbersPerEdit) * 3;
    if (this.#entries.length < most) this.#entries = new Int32Array(Math.ceil(most * 1.25));
    const rows = this.#merge(from, to, bucket * keysPerBucket);
    if (rows === 0) return 0;
    this.#write(new Uint8Array(words.buffer));
    this.#write(new Uint8Array(this.#entries.buffer, 0, rows * bytesPerEntry));
    return rows;
  }

  #merge(from: number, to: number, firstKey: number): number {
    const base = this.#base;
    const [words, out, edits] = [this.#words, this.#entries, this.#edits];
    let rank = from;
    let at = 0;
    const copyUntil = (end: number) => {
      if (base === null || end <= rank) return;
      out.set(base.entries.subarray(rank * 3, end * 3), at);
      at += (end - rank) * 3;
      rank = end;
    };
    for (let edit = 0; edit < this.#used; edit += numbersPerEdit) {
      const key = edits[edit]!;
      const word = (key - firstKey) >>> 5;
      const bit = 1 << (key & 31);
      const known = (words[word]! & bit) !== 0;
      if (base !== null) copyUntil(base.rankBelow(key));
      if (known) rank += 1;
      if (edits[edit + 1] === 1) {
        out[at] = edits[edit + 2]!;
        out[at + 1] = edits[edit + 3]!;
        out[at + 2] = edits[edit + 4]!;
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
