import type { BaseRows } from './base-rows.ts';
import type { RowComparer } from './compare-rows.ts';
import type { EditionWriter } from './edition-writer.ts';
import { LastLines } from './last-lines.ts';
import type { RejectList } from './reject-file.ts';
import { emptyRow } from './row-store.ts';
import type { Spill, SpilledBucket } from './spill.ts';

export interface MergeParts {
  /** Null for a first edition. */
  base: BaseRows | null;
  /** Bits by rank of the base, from the first pass. */
  seen: Int32Array;
  seenBad: Int32Array;
  spill: Spill;
  rejects: RejectList;
  comparer: RowComparer;
  writer: EditionWriter;
}

/**
 * Second pass, one range of keys at a time and within it in RUC order: rows that may differ are compared cell by cell
 * with the base's, RUCs without a row end or are kept.
 */
export class Merge {
  readonly #parts: MergeParts;
  readonly #lines: LastLines;
  readonly #row = emptyRow(0);

  constructor(parts: MergeParts) {
    this.#parts = parts;
    this.#lines = new LastLines(parts.spill);
  }

  add(bucket: number): void {
    const { base, seen, writer } = this.#parts;
    const gone = base?.index.unseenKeys(bucket, seen) ?? [];
    const keys = this.#lines.take(bucket, (key, spilled, entry) => this.#listRepeat(key, spilled, entry));
    base?.expect(keys.length + gone.length, base.index.rowsIn(bucket));
    let next = 0;
    for (const key of keys) {
      while (next < gone.length && gone[next]! < key) this.#end(gone[next++]!);
      this.#compare(key);
    }
    while (next < gone.length) this.#end(gone[next++]!);
    writer.endBucket();
  }

  /** Repeats of a known RUC were listed in the first pass, where its first line may have gone no further. */
  #listRepeat(key: number, { bytes, starts, ends, lines }: SpilledBucket, entry: number): void {
    const { base, rejects } = this.#parts;
    if (base !== null && base.index.rankOf(key) >= 0) return;
    rejects.add('duplicate', lines[entry]!, bytes, starts[entry]!, ends[entry]!);
  }

  #compare(key: number): void {
    const { base, comparer, writer } = this.#parts;
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
    const { base, seenBad, writer } = this.#parts;
    const rank = base!.index.rankOf(key);
    const before = base!.read(key, rank);
    if ((seenBad[rank >>> 5]! >>> (rank & 31)) & 1) {
      writer.overlay.write(before, 'bad_line', null);
      writer.tally.kept += 1;
    } else writer.remove(key, before);
  }
}
