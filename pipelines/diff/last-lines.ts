import { bucketBits, keysPerBucket } from './buckets.ts';
import { makeCanonical } from './compare-rows.ts';
import type { StoredRow } from './row-store.ts';
import type { Spill, SpilledBucket } from './spill.ts';

/** The spilled rows of one range of keys at a time, the last line of each RUC. */
export class LastLines {
  readonly #spill: Spill;
  /** Low bits of a key → its last spilled entry + 1. */
  readonly #slots = new Int32Array(keysPerBucket);
  #keys = new Uint32Array(1024);
  #found = new Uint32Array(0);
  #spilled: SpilledBucket | null = null;

  constructor(spill: Spill) {
    this.#spill = spill;
  }

  /**
   * Distinct keys of a range in order, valid until the next call. `onRepeat` is told of each entry that is not the first of
   * its RUC.
   */
  take(bucket: number, onRepeat: (key: number, spilled: SpilledBucket, entry: number) => void): Uint32Array {
    this.#forget();
    if (this.#spill.countOf(bucket) === 0) return this.#found;
    const spilled = this.#spill.read(bucket);
    this.#spilled = spilled;
    const { keys, count } = spilled;
    if (this.#keys.length < count) this.#keys = new Uint32Array(Math.ceil(count * 1.25));
    const slots = this.#slots;
    let distinct = 0;
    for (let entry = 0; entry < count; entry += 1) {
      const key = keys[entry]!;
      const slot = key & (keysPerBucket - 1);
      if (slots[slot] === 0) this.#keys[distinct++] = key;
      else onRepeat(key, spilled, entry);
      slots[slot] = entry + 1;
    }
    const found = this.#keys.subarray(0, distinct);
    this.#found = found;
    if (distinct < keysPerBucket / 64) return found.sort();
    const first = (found[0]! >>> bucketBits) * keysPerBucket;
    for (let slot = 0, at = 0; slot < keysPerBucket; slot += 1) if (slots[slot] !== 0) found[at++] = first + slot;
    return found;
  }

  has(key: number): boolean {
    return this.#slots[key & (keysPerBucket - 1)] !== 0;
  }

  /** The row of a key of the range in the form that is stored; `into` is filled. Returns its line. */
  read(key: number, into: StoredRow): number {
    const spilled = this.#spilled!;
    const entry = this.#slots[key & (keysPerBucket - 1)]! - 1;
    into.bytes = spilled.bytes;
    into.view = spilled.view;
    into.start = spilled.starts[entry]!;
    into.end = spilled.ends[entry]!;
    makeCanonical(into.bytes, into.view, into.start, into.end);
    return spilled.lines[entry]!;
  }

  #forget(): void {
    const found = this.#found;
    for (let at = 0; at < found.length; at += 1) this.#slots[found[at]! & (keysPerBucket - 1)] = 0;
    this.#found = found.subarray(0, 0);
    this.#spilled = null;
  }
}
