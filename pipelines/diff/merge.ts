import { keyAt } from '../registers/padron-reducido/format.ts';
import { type HashSeed, hashOfRow } from '../registers/padron-reducido/scan.ts';
import { bucketBits, keysPerBucket } from './buckets.ts';
import type { ChangeWriter, OverlayWriter } from './change-writer.ts';
import { makeCanonical, type RowComparer } from './compare-rows.ts';
import type { EditionIndex } from './edition-index.ts';
import { CompareError } from './errors.ts';
import { BucketEdits, type IndexBuilder } from './index-builder.ts';
import type { RejectList } from './reject-file.ts';
import type { RowStore, SegmentWriter, StoredRow } from './row-store.ts';
import type { Spill, SpilledBucket } from './spill.ts';
import type { Tally } from './tally.ts';

export interface MergeParts {
  base: EditionIndex | null;
  baseRows: RowStore | null;
  seed: HashSeed;
  /** Bits by rank of the base, from the first pass. */
  seen: Int32Array;
  seenBad: Int32Array;
  spill: Spill;
  rejects: RejectList;
  tally: Tally;
  comparer: RowComparer;
  changes: ChangeWriter;
  overlay: OverlayWriter;
  segment: SegmentWriter;
  builder: IndexBuilder;
}

/**
 * Second pass, one range of keys at a time and within it in RUC order: rows that may differ are compared cell by cell
 * with the base's, RUCs without a row end or are kept, and change file, row store and index are written side by side.
 */
export class Merge {
  readonly #parts: MergeParts;
  readonly #edits = new BucketEdits();
  readonly #hash = new Int32Array(2);
  /** Low bits of a key → its last spilled entry + 1. */
  readonly #slots = new Int32Array(keysPerBucket);
  #keys = new Uint32Array(1024);

  constructor(parts: MergeParts) {
    this.#parts = parts;
  }

  add(bucket: number): void {
    const { base, baseRows, spill, seen, builder } = this.#parts;
    this.#edits.clear();
    const gone = base?.unseenKeys(bucket, seen) ?? [];
    if (spill.countOf(bucket) > 0 || gone.length > 0) {
      const spilled = spill.read(bucket);
      const keys = this.#lastEntries(spilled);
      const rows = base === null ? 0 : base.firstRank[bucket + 1]! - base.firstRank[bucket]!;
      baseRows?.expect((keys.length + gone.length) * 20 > rows ? 'many' : 'few');
      let next = 0;
      for (const key of keys) {
        while (next < gone.length && gone[next]! < key) this.#end(gone[next++]!);
        const slot = key & (keysPerBucket - 1);
        this.#row(key, spilled, this.#slots[slot]! - 1);
        this.#slots[slot] = 0;
      }
      while (next < gone.length) this.#end(gone[next++]!);
    }
    builder.addBucket(this.#edits);
  }

  /** Distinct keys of the range in order; the last entry of each stands in its slot. */
  #lastEntries(spilled: SpilledBucket): Uint32Array {
    if (this.#keys.length < spilled.count) this.#keys = new Uint32Array(Math.ceil(spilled.count * 1.25));
    const slots = this.#slots;
    const { keys, count } = spilled;
    let distinct = 0;
    for (let entry = 0; entry < count; entry += 1) {
      const key = keys[entry]!;
      const slot = key & (keysPerBucket - 1);
      if (slots[slot] === 0) this.#keys[distinct++] = key;
      // Repeats of a known RUC were listed in the first pass, where its first line may have gone no further.
      else if (this.#parts.base === null || this.#parts.base.rankOf(key) < 0) this.#listRepeat(spilled, entry);
      slots[slot] = entry + 1;
    }
    const found = this.#keys.subarray(0, distinct);
    if (distinct < keysPerBucket / 64) return found.sort();
    const first = (found[0]! >>> bucketBits) * keysPerBucket;
    for (let slot = 0, at = 0; slot < keysPerBucket; slot += 1) if (slots[slot] !== 0) found[at++] = first + slot;
    return found;
  }

  #listRepeat(spilled: SpilledBucket, entry: number): void {
    const { bytes, starts, ends, lines } = spilled;
    this.#parts.rejects.add('duplicate', lines[entry]!, bytes, starts[entry]!, ends[entry]!);
  }

  #row(key: number, spilled: SpilledBucket, entry: number): void {
    const { base, changes, comparer, overlay, tally } = this.#parts;
    const { bytes, view } = spilled;
    const row = { bytes, view, start: spilled.starts[entry]!, end: spilled.ends[entry]! };
    const line = spilled.lines[entry]!;
    makeCanonical(bytes, view, row.start, row.end);
    const rank = base === null ? -1 : base.rankOf(key);
    if (rank < 0) {
      this.#store(key, row);
      changes.write(base === null ? 'r' : 'c', null, row, line);
      tally.count(key, base === null ? 'baseline' : 'inserted', 0);
      return;
    }
    const before = this.#before(key, rank);
    const { changed, after, merged } = comparer.compare(before, row);
    if (merged) {
      overlay.write(after, 'empty_cell', line);
      tally.keptCells += 1;
    }
    if (changed === 0) return;
    this.#store(key, after);
    changes.write('u', before, after, line);
    tally.count(key, 'updated', changed);
  }

  #end(key: number): void {
    const { base, changes, overlay, seenBad, tally } = this.#parts;
    const rank = base!.rankOf(key);
    const before = this.#before(key, rank);
    if ((seenBad[rank >>> 5]! >>> (rank & 31)) & 1) {
      overlay.write(before, 'bad_line', null);
      tally.kept += 1;
      return;
    }
    this.#edits.remove(key);
    changes.write('d', before, null, null);
    tally.count(key, 'deleted', 0);
  }

  #store(key: number, row: StoredRow): void {
    const position = this.#parts.segment.append(row);
    hashOfRow(row.view, row.start, row.end, this.#parts.seed, this.#hash);
    this.#edits.set(key, this.#hash[0]!, this.#hash[1]!, position);
  }

  /** The base's row of a RUC, proved to be it by its digits and its hash. */
  #before(key: number, rank: number): StoredRow {
    const { base, baseRows, seed } = this.#parts;
    const { entries } = base!;
    const row = baseRows!.read(entries[rank * 3 + 2]! >>> 0);
    hashOfRow(row.view, row.start, row.end, seed, this.#hash);
    const same = this.#hash[0] === entries[rank * 3] && this.#hash[1] === entries[rank * 3 + 1];
    if (!same || keyAt(row.bytes, row.start, row.end) !== key) {
      throw new CompareError('index_damaged', 'A row of the row store does not match its index: rebuild it.');
    }
    return row;
  }
}
