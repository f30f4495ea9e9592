import type { HashSeed } from '../../changes/change-file.ts';
import { keyAt, noKey } from '../../registers/ruc-key.ts';
import type { RejectList } from '../listings.ts';
import type { EditionIndex, RowMatcher } from './edition-index.ts';
import type { Page } from './pages.ts';
import { blankControlBytes, hashOfRow, problemOfLine } from './scan.ts';
import type { Spill } from './spill.ts';

export interface ClassifierDependencies {
  /** Finds rows that equal the base's rows. Such a row skips the merge (merge.ts). If null, no row skips it. */
  base: RowMatcher | null;
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

  constructor(dependencies: ClassifierDependencies) {
    this.#dependencies = dependencies;
    this.seen = dependencies.base?.seen ?? new Int32Array(1);
    this.seenBad = new Int32Array(((dependencies.known?.header.rows ?? 0) >>> 5) + 1);
  }

  /** Classifies a page's rows. The first row of the first page is line 2 of the publication, after the header. */
  add(page: Page): void {
    const { rows } = page;
    const { base } = this.#dependencies;
    this.emptyNames += rows.emptyNames;
    if (rows.repairables > 0) this.#repair(page);
    if (base === null) for (let row = 0; row < rows.count; row += 1) this.#sort(page, row, false);
    else for (const other of base.othersOf(page)) this.#sort(page, other >>> 1, (other & 1) === 1);
    this.lines += rows.count;
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

  #sort({ bytes, view, rows }: Page, row: number, isRepeat: boolean): void {
    const { spill, rejects } = this.#dependencies;
    const key = rows.keys[row]!;
    const start = rows.starts[row]!;
    const end = rows.ends[row]!;
    const line = this.lines + 2 + row;
    if (key === noKey) {
      this.#reject(bytes, start, end, line);
      return;
    }
    if (isRepeat) rejects.add('duplicate', line, bytes, start, end);
    // A repeat goes to the merge even if it equals the base: the last line of a RUC counts, and the merge knows only
    // the lines in the spill.
    spill.append(key, line, view, start, end);
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
