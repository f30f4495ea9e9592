import type { RowAt } from '../../changes/record-bytes.ts';
import { isStrayByte, unreadableByte } from '../../registers/windows-1252.ts';
import { cellEnds, maxRowBytes, pipe, slackBytes } from './scan.ts';

export interface RowDifference {
  /** Bit c is set if column c differs; column 0 is the one after the RUC. No bit is set if the rows are the same. */
  changed: number;
  /** The row to store: the new row, or a merged one in which empty cells kept their previous value. */
  after: RowAt & { view: DataView; end: number };
  merged: boolean;
}

/** Compares two rows of one RUC cell by cell. Where `keepsPrevious` is true, an empty new cell keeps the old value. */
export class RowComparer {
  readonly #keepsPrevious: readonly boolean[];
  readonly #oldEnds: Int32Array;
  readonly #newEnds: Int32Array;
  readonly #merged = new Uint8Array(maxRowBytes + slackBytes);
  readonly #mergedView = new DataView(this.#merged.buffer);

  constructor(keepsPrevious: readonly boolean[]) {
    this.#keepsPrevious = keepsPrevious;
    this.#oldEnds = new Int32Array(keepsPrevious.length + 1);
    this.#newEnds = new Int32Array(keepsPrevious.length + 1);
  }

  /**
   * Both rows must have gone through `makeCanonical`, which writes one byte for all bytes that Windows-1252 leaves
   * undefined. Otherwise rows with the same stored text could seem different. The result is valid until the next call.
   */
  compare(before: RowAt, after: RowAt & { view: DataView; end: number }): RowDifference {
    cellEnds(before.bytes, before.start, this.#oldEnds);
    cellEnds(after.bytes, after.start, this.#newEnds);
    let changed = 0;
    let merged = false;
    for (let cell = 1; cell < this.#newEnds.length; cell += 1) {
      const [oldFrom, oldTo] = [this.#oldEnds[cell - 1]! + 1, this.#oldEnds[cell]!];
      const [newFrom, newTo] = [this.#newEnds[cell - 1]! + 1, this.#newEnds[cell]!];
      if (sameBytes(before.bytes, oldFrom, oldTo, after.bytes, newFrom, newTo)) continue;
      if (newTo === newFrom && this.#keepsPrevious[cell - 1]) merged = true;
      else changed |= 1 << (cell - 1);
    }
    return { changed, after: merged ? this.#merge(before, after) : after, merged };
  }

  #merge(before: RowAt, after: RowAt): RowAt & { view: DataView; end: number } {
    let at = 0;
    const copy = (bytes: Uint8Array, from: number, to: number) => {
      this.#merged.set(bytes.subarray(from, to), at);
      at += to - from;
      this.#merged[at++] = pipe;
    };
    copy(after.bytes, after.start, this.#newEnds[0]!);
    for (let cell = 1; cell < this.#newEnds.length; cell += 1) {
      const empty = this.#newEnds[cell]! === this.#newEnds[cell - 1]! + 1;
      const kept = empty && this.#keepsPrevious[cell - 1];
      const [from, ends] = kept ? [before, this.#oldEnds] : [after, this.#newEnds];
      copy(from.bytes, ends[cell - 1]! + 1, ends[cell]!);
    }
    return { bytes: this.#merged, view: this.#mergedView, start: 0, end: at };
  }
}

function sameBytes(
  a: Uint8Array,
  from: number,
  to: number,
  b: Uint8Array,
  otherFrom: number,
  otherTo: number,
): boolean {
  if (to - from !== otherTo - otherFrom) return false;
  for (let one = from, other = otherFrom; one < to; one += 1, other += 1) if (a[one] !== b[other]) return false;
  return true;
}

/**
 * Writes `unreadableByte` over each of the five bytes that Windows-1252 leaves undefined. A change file has U+FFFD for
 * all five, and a row store that is rebuilt from change files has `unreadableByte` for U+FFFD. So the original row
 * store must have `unreadableByte` too. Reads up to `slackBytes` past `end`.
 */
export function makeCanonical(bytes: Uint8Array, view: DataView, start: number, end: number): void {
  for (let at = start; at < end; at += 16) {
    const half1 = view.getInt32(at, true) | view.getInt32(at + 4, true);
    const half2 = view.getInt32(at + 8, true) | view.getInt32(at + 12, true);
    if (((half1 | half2) & 0x80808080) === 0) continue;
    for (let byte = at; byte < Math.min(at + 16, end); byte += 1) {
      if (isStrayByte[bytes[byte]!] === 1) bytes[byte] = unreadableByte;
    }
  }
}
