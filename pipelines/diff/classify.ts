import { keyAt, noKey, problemOfLine } from '../registers/padron-reducido/format.ts';
import type { EditionIndex } from './edition-index.ts';
import type { Page } from './pages.ts';
import type { RejectList } from './reject-file.ts';
import type { Spill } from './spill.ts';

/** Rows looked at together: enough to overlap cache misses, few enough to stay in the second-level cache. */
const rowsPerBatch = 1024;

/**
 * First pass over a publication: every row is either the same as in the base, or goes to the spill to be looked at.
 * Which RUCs were seen is one bit per rank of the base.
 */
export class Classifier {
  /** Data lines so far. */
  lines = 0;
  emptyNames = 0;
  readonly seen: Int32Array;
  /** Known RUCs that had a line which is no row. */
  readonly seenBad: Int32Array;
  readonly #base: EditionIndex | null;
  readonly #spill: Spill;
  readonly #rejects: RejectList;
  readonly #ranks = new Int32Array(rowsPerBatch).fill(-1);
  readonly #differs = new Int32Array(rowsPerBatch);

  constructor(base: EditionIndex | null, spill: Spill, rejects: RejectList) {
    this.#base = base;
    this.#spill = spill;
    this.#rejects = rejects;
    const words = ((base?.header.rows ?? 0) >>> 5) + 1;
    this.seen = new Int32Array(words);
    this.seenBad = new Int32Array(words);
  }

  /** Takes a page's rows; the first row ever is line 2 of the publication. */
  add(page: Page): void {
    const { rows } = page;
    this.emptyNames += rows.emptyNames;
    for (let from = 0; from < rows.count; from += rowsPerBatch) {
      const to = Math.min(from + rowsPerBatch, rows.count);
      this.#base?.lookUp(rows, from, to, this.#ranks);
      this.#base?.compareHashes(rows, from, to, this.#ranks, this.#differs);
      this.#sort(page, from, to);
      this.lines += to - from;
    }
  }

  #sort({ bytes, view, rows }: Page, from: number, to: number): void {
    const { keys, starts, ends } = rows;
    const ranks = this.#ranks;
    const differs = this.#differs;
    const seen = this.seen;
    const lineOfRow0 = this.lines + 2 - from;
    for (let row = from; row < to; row += 1) {
      const key = keys[row]!;
      const start = starts[row]!;
      if (key === noKey) {
        this.#reject(bytes, start, ends[row]!, lineOfRow0 + row);
        continue;
      }
      const rank = ranks[row - from]!;
      if (rank >= 0) {
        const bit = 1 << (rank & 31);
        const marked = seen[rank >>> 5]!;
        seen[rank >>> 5] = marked | bit;
        if ((marked & bit) === 0) {
          if (differs[row - from] === 0) continue;
        } else {
          // The last line of a RUC counts. So a repeat is looked at even when it equals the base: an earlier one may
          // have gone to the spill, and the merge takes the last it finds there.
          this.#rejects.add('duplicate', lineOfRow0 + row, bytes, start, ends[row]!);
        }
      }
      this.#spill.append(key, lineOfRow0 + row, view, start, ends[row]!);
    }
  }

  #reject(bytes: Uint8Array, start: number, end: number, line: number): void {
    const reason = problemOfLine(bytes, start, end);
    if (reason === null) throw new Error(`line ${line} is a row for the slow reader and none for the fast one`);
    this.#rejects.add(reason, line, bytes, start, end);
    // Ten digits name a RUC even when the eleventh is wrong: better to keep a row than to announce a false end.
    const key = keyAt(bytes, start, end);
    const rank = key === noKey ? -1 : (this.#base?.rankOf(key) ?? -1);
    if (rank >= 0) this.seenBad[rank >>> 5]! |= 1 << (rank & 31);
  }
}
