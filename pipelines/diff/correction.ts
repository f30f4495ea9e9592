import { keyAt } from '../registers/ruc-key.ts';
import type { BaseRows } from './base-rows.ts';
import { bucketBits, bucketCount } from './buckets.ts';
import { type ChangeBlock, recordsOf } from './change-file.ts';
import { RowComparer } from './compare-rows.ts';
import type { ConflictList } from './conflict-list.ts';
import { RowDecoder } from './decode-row.ts';
import type { EditionWriter } from './edition-writer.ts';
import { CompareError } from './errors.ts';
import { type OverlayEntry, type OverlayReader, rowOfCells } from './overlay-file.ts';
import type { StoredRow } from './row-store.ts';

export interface CorrectionParts {
  /** The head's. */
  rows: BaseRows;
  overlay: OverlayReader;
  writer: EditionWriter;
  conflicts: ConflictList;
  columns: readonly string[];
}

/**
 * Goes through an edition's changes in RUC order and undoes each that still stands. The head's overlay goes along: what it
 * says of other RUCs stays true.
 */
export class Correction {
  readonly #parts: CorrectionParts;
  readonly #changes: RowDecoder;
  readonly #comparer: RowComparer;
  #bucket = 0;

  constructor(parts: CorrectionParts) {
    this.#parts = parts;
    this.#changes = new RowDecoder(parts.columns.length);
    // An empty cell of the old row is what it was: nothing is kept.
    this.#comparer = new RowComparer(parts.columns.map(() => false));
  }

  async add(block: ChangeBlock): Promise<void> {
    const { overlay } = this.#parts;
    for (const { op, ruc, start } of recordsOf(block)) {
      if (op === 'r')
        throw new CompareError('not_correctable', 'The edition holds first rows: there is nothing before.');
      const { before, after } = this.#changes.read(block.bytes, start);
      const row = (after ?? before)!;
      const key = keyAt(row.bytes, row.start, row.end);
      this.#endBucketsBelow(key >>> bucketBits);
      while (overlay.hasBelow(ruc)) this.#carry(await overlay.take());
      if (this.#undo(key, ruc, before, after) && overlay.isAt(ruc)) await overlay.take();
    }
  }

  async end(): Promise<void> {
    const { overlay } = this.#parts;
    while (overlay.hasBelow('~')) this.#carry(await overlay.take());
    this.#endBucketsBelow(bucketCount);
  }

  /** True when the RUC got its row from before; false when it is a conflict. */
  #undo(key: number, ruc: string, before: StoredRow | null, after: StoredRow | null): boolean {
    const { rows, writer, conflicts } = this.#parts;
    const current = rows.find(key);
    if (after === null && current !== null) conflicts.add(ruc, 'came_back');
    else if (after !== null && current === null) conflicts.add(ruc, 'gone');
    else if (after !== null && this.#comparer.compare(current!, after).changed !== 0)
      conflicts.add(ruc, 'changed_again');
    else if (before === null) {
      writer.remove(key, current!);
      writer.overlay.writeAbsent(current!, 'correction', null);
      return true;
    } else {
      if (current === null) writer.insert('c', key, before, null);
      else writer.update(key, current, before, null, this.#comparer.compare(current, before).changed);
      writer.overlay.write(before, 'correction', null);
      return true;
    }
    return false;
  }

  #carry({ ruc, reason, line, row }: OverlayEntry): void {
    const { writer, columns } = this.#parts;
    const cells = columns.map((column) => row?.[column] ?? '');
    const bytes = rowOfCells(ruc, cells);
    if (row === null) writer.overlay.writeAbsent(bytes, reason, line);
    else writer.overlay.write(bytes, reason, line);
  }

  #endBucketsBelow(bucket: number): void {
    for (; this.#bucket < bucket; this.#bucket += 1) this.#parts.writer.endBucket();
  }
}
