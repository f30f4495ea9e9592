import type { HashSeed } from '../../changes/change-file.ts';
import { keyAt, noKey } from '../../registers/ruc-key.ts';
import type { RejectList } from '../listings.ts';
import type { EditionIndex } from './edition-index.ts';
import type { Page } from './pages.ts';
import { blankControlBytes, hashOfRow, problemOfLine } from './scan.ts';
import type { Spill } from './spill.ts';

/** Rows looked up together: enough to let cache misses overlap, and few enough to fit the second-level cache. */
const rowsPerBatch = 1024;

export interface ClassifierDependencies {
  /** Index of the base. A row that equals the base's row skips the merge (merge.ts). If null, no row skips it. */
  base: EditionIndex | null;
  /**
   * Index of the head, also for a re-baseline, where `base` is null. Null for a first edition. If all lines of a RUC
   * are bad, the RUC keeps the row that the head has.
   */
  known: EditionIndex | null;
  spill: Spill;
  rejects: RejectList;
  seed: HashSeed;
  /** Number of cells of a row, including the RUC. */
  cells: number;
}

/**
 * Makes the first pass over a publication. A row whose RUC the base has sets this RUC's bit in `seen`. If the row
 * equals the base's row and is the RUC's first good line, that is all. Every other row goes to the spill (spill.ts), and
 * the merge (merge.ts) compares it later.
 */
export class Classifier {
  /** Number of data lines that were read so far. */
  lines = 0;
  emptyNames = 0;
  /** One bit for each rank (row number in RUC order) of the base, set if a good line of the publication has the RUC. */
  readonly seen: Int32Array;
  /** One bit for each RUC in `known`, at its rank (the number of smaller RUCs). Set if the RUC had a bad line. */
  readonly seenBad: Int32Array;
  readonly #dependencies: ClassifierDependencies;
  readonly #hash = new Int32Array(2);
  readonly #ranks = new Int32Array(rowsPerBatch).fill(-1);
  /** For each row of the batch: zero if it is the same as in the base. */
  readonly #differs = new Int32Array(rowsPerBatch).fill(-1);
  /** For each row of the batch: not zero if the base has the row's RUC and an earlier good line has the same RUC. */
  readonly #repeats = new Int32Array(rowsPerBatch);

  constructor(dependencies: ClassifierDependencies) {
    this.#dependencies = dependencies;
    this.seen = bitsFor(dependencies.base);
    this.seenBad = bitsFor(dependencies.known);
  }

  /** Classifies a page's rows. The first row of the first page is line 2 of the publication, after the header. */
  add(page: Page): void {
    const { rows } = page;
    const { base } = this.#dependencies;
    this.emptyNames += rows.emptyNames;
    if (rows.repairables > 0) this.#repair(page);
    for (let from = 0; from < rows.count; from += rowsPerBatch) {
      const to = Math.min(from + rowsPerBatch, rows.count);
      if (base !== null) {
        base.lookUp(rows, from, to, this.#ranks);
        base.compareHashes(rows, from, to, this.#ranks, this.#differs);
        markSeen(this.seen, this.#ranks, this.#differs, this.#repeats, to - from);
      }
      this.#sort(page, from, to);
      this.lines += to - from;
    }
  }

  /**
   * Adds each row that has control bytes to the rejects, as it was published. Then it replaces these bytes by spaces
   * and hashes the row.
   */
  #repair({ bytes, view, rows }: Page): void {
    const { rejects, seed } = this.#dependencies;
    for (let at = 0; at < rows.repairables; at += 1) {
      const row = rows.repairable[at]!;
      const start = rows.starts[row]!;
      const end = rows.ends[row]!;
      rejects.add('control_byte', this.lines + 2 + row, bytes, start, end);
      blankControlBytes(bytes, start, end);
      hashOfRow(view, start, end, seed, this.#hash);
      rows.hash1[row] = this.#hash[0]!;
      rows.hash2[row] = this.#hash[1]!;
    }
  }

  #sort({ bytes, view, rows }: Page, from: number, to: number): void {
    const { keys, starts, ends } = rows;
    const { spill, rejects } = this.#dependencies;
    const differs = this.#differs;
    const lineOfFirst = this.lines + 2;
    for (let at = 0; at < to - from; at += 1) {
      if (differs[at] === 0) continue;
      const key = keys[from + at]!;
      const start = starts[from + at]!;
      const end = ends[from + at]!;
      const line = lineOfFirst + at;
      if (key === noKey) {
        this.#reject(bytes, start, end, line);
        continue;
      }
      if (this.#repeats[at] !== 0) rejects.add('duplicate', line, bytes, start, end);
      spill.append(key, line, view, start, end);
    }
  }

  #reject(bytes: Uint8Array, start: number, end: number, line: number): void {
    const { rejects, known, cells } = this.#dependencies;
    const reason = problemOfLine(bytes, start, end, cells);
    if (reason === null) throw new Error(`line ${line} is a row for the slow reader and none for the fast one`);
    rejects.add(reason, line, bytes, start, end);
    // The merge keeps the row of a RUC whose lines are all bad. Even if the check digit is wrong, the first ten digits
    // identify a RUC. Keeping a row needlessly does no harm, but deleting a RUC that still exists does.
    const key = keyAt(bytes, start, end);
    const rank = key === noKey ? -1 : (known?.rankOf(key) ?? -1);
    if (rank >= 0) this.seenBad[rank >>> 5]! |= 1 << (rank & 31);
  }
}

function bitsFor(index: EditionIndex | null): Int32Array {
  return new Int32Array(((index?.header.rows ?? 0) >>> 5) + 1);
}

/**
 * Marks the ranks of a batch as seen. Also sets `differs` for rows without a rank and for repeats of a RUC, so that
 * they go to the merge. A repeat goes there even if it equals the base: the last line of a RUC counts, and the merge
 * knows only the lines in the spill. Keep the loop free of branches, so that its waits for memory overlap (see
 * `EditionIndex.lookUp`).
 */
function markSeen(seen: Int32Array, ranks: Int32Array, differs: Int32Array, repeats: Int32Array, count: number): void {
  for (let row = 0; row < count; row += 1) {
    const rank = ranks[row]!;
    const absent = rank >> 31;
    const word = (rank & ~absent) >> 5;
    const bit = (1 << (rank & 31)) & ~absent;
    const marked = seen[word]!;
    seen[word] = marked | bit;
    repeats[row] = marked & bit;
    differs[row] = differs[row]! | (marked & bit) | absent;
  }
}
