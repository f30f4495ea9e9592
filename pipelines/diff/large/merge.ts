import { setImmediate } from 'node:timers/promises';
import type { RejectList } from '../listings.ts';
import type { Progress } from '../types.ts';
import { makeCanonical, type RowComparer } from './compare-rows.ts';
import type { EditionWriter } from './edition-writer.ts';
import { bucketBits, bucketCount, keysPerBucket } from './index-format.ts';
import { type BaseRows, emptyRow, type StoredRow } from './row-store.ts';
import type { Spill, SpilledBucket } from './spill.ts';

const pauseEveryMs = 500;

/**
 * Calls `add` for each bucket (range of keys, see index-format.ts) in order. Twice a second it reports progress, and
 * throws if the signal is aborted.
 */
export async function eachBucket(
  add: (bucket: number) => void | Promise<void>,
  lines: number,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<void> {
  let pausedAt = Date.now();
  for (let bucket = 0; bucket < bucketCount; bucket += 1) {
    const adding = add(bucket);
    if (adding !== undefined) await adding;
    if (Date.now() - pausedAt < pauseEveryMs) continue;
    await setImmediate();
    signal.throwIfAborted();
    pausedAt = Date.now();
    report({ phase: 'merge', done: bucket, total: bucketCount, lines });
  }
}

/**
 * Reads the rows that the first pass (`Classifier`) put into the spill, one bucket (a range of RUCs) at a time. Only
 * the last line of a RUC counts.
 */
export class LastLines {
  readonly #spill: Spill;
  /** Index: the low bits of a key. Value: 1 + the index of the key's last line in `#spilled`; 0 if it has no line. */
  readonly #slots = new Int32Array(keysPerBucket);
  #keys = new Uint32Array(1024);
  #found = new Uint32Array(0);
  #spilled: SpilledBucket | null = null;

  constructor(spill: Spill) {
    this.#spill = spill;
  }

  /**
   * Returns the distinct keys of a bucket in ascending order. The array is valid until the next call.
   * @param onRepeat is called for each line of a RUC after its first line
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

  /** Points `into` to the row of a key and converts the row with `makeCanonical`. Returns the row's line number. */
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

interface MergeDependencies {
  /** The rows of the base; null for a first edition. */
  base: BaseRows | null;
  /** One bit for each row of the base, set by the first pass (`Classifier`) when the publication has the row's RUC. */
  seen: Int32Array;
  /** One bit for each row of the base, set by the first pass when a bad line names the row's RUC. */
  seenBad: Int32Array;
  spill: Spill;
  rejects: RejectList;
  comparer: RowComparer;
  writer: EditionWriter;
}

/**
 * Makes the second pass of a comparison, after `Classifier`, one bucket at a time and in RUC order. It compares the
 * rows in the spill with the base's rows cell by cell. It removes a row of the base if the publication has no line of
 * its RUC. A bad line of the RUC is enough to keep the row.
 */
export class Merge {
  readonly #dependencies: MergeDependencies;
  readonly #lines: LastLines;
  readonly #row = emptyRow(0);

  constructor(dependencies: MergeDependencies) {
    this.#dependencies = dependencies;
    this.#lines = new LastLines(dependencies.spill);
  }

  add(bucket: number): void {
    const { base, seen } = this.#dependencies;
    const gone = base?.index.unseenKeys(bucket, seen) ?? [];
    const keys = this.#lines.take(bucket, (key, spilled, entry) => this.#listRepeat(key, spilled, entry));
    base?.expect(keys.length + gone.length, base.index.rowsIn(bucket));
    let next = 0;
    for (const key of keys) {
      while (next < gone.length && gone[next]! < key) this.#end(gone[next++]!);
      this.#compare(key);
    }
    while (next < gone.length) this.#end(gone[next++]!);
  }

  /** Lists a repeated line if the base lacks its RUC. If the base has the RUC, `Classifier` has listed the line. */
  #listRepeat(key: number, { bytes, starts, ends, lines }: SpilledBucket, entry: number): void {
    const { base, rejects } = this.#dependencies;
    if (base !== null && base.index.rankOf(key) >= 0) return;
    rejects.add('duplicate', lines[entry]!, bytes, starts[entry]!, ends[entry]!);
  }

  #compare(key: number): void {
    const { base, comparer, writer } = this.#dependencies;
    const row = this.#row;
    const line = this.#lines.read(key, row);
    const before = base?.find(key) ?? null;
    if (before === null) {
      writer.insert(base === null ? 'r' : 'c', key, row, line);
      return;
    }
    const { changed, after, merged } = comparer.compare(before, row);
    if (merged) {
      writer.overlay.write(after, 'empty_cell', line);
      writer.tally.keptCells += 1;
    }
    if (changed !== 0) writer.update(key, before, after, line, changed);
  }

  #end(key: number): void {
    const { base, seenBad, writer } = this.#dependencies;
    const rank = base!.index.rankOf(key);
    const before = base!.read(key, rank);
    if ((seenBad[rank >>> 5]! >>> (rank & 31)) & 1) {
      writer.overlay.write(before, 'bad_line', null);
      writer.tally.kept += 1;
    } else writer.remove(key, before);
  }
}
