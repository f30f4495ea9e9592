import type { KernelMemory } from '../kernel/kernel.ts';
import type { EditionIndex } from './edition-index.ts';
import { bucketBits, maxBuckets } from './index-format.ts';
import { columnBytes, maxRows, type Page } from './page.ts';

/** Number of rows that the kernel looks up together, as in assembly.ts. It keeps two numbers for each. */
const rowsPerBatch = 512;

/** Finds the rows of a publication that are not the same as in its base. The kernel compares the hashes of rows. */
export class RowMatcher {
  /** One bit for each rank (row number in RUC order) of the index, set when a row of the publication has the RUC. */
  readonly seen: Int32Array;
  readonly #listed: Uint32Array;
  /** Arguments of the kernel that are the same for every page. */
  readonly #index: number[];

  /** @param memory the memory that `index` and all pages lie in */
  constructor(memory: KernelMemory, { header, firstPair, table, entries }: EditionIndex) {
    const words = (header.rows >>> 5) + 1;
    const seen = memory.take(words * 4);
    this.seen = new Int32Array(seen.buffer, seen.at, words);
    const listed = memory.take((maxRows + 1) * 4);
    this.#listed = new Uint32Array(listed.buffer, listed.at, maxRows + 1);
    const positions = [firstPair, table, entries, this.seen, this.#listed].map(({ byteOffset }) => byteOffset);
    this.#index = [bucketBits, maxBuckets, memory.take(2 * rowsPerBatch * 4).at, ...positions];
  }

  /**
   * Marks the rows' RUCs as seen and lists each row that differs from the index's row. It also lists a row whose RUC the
   * index does not have, and a row whose RUC an earlier row has too. An element is 2 × the row's number, plus 1 if the
   * index has the RUC and an earlier row has it too. The list is valid until the next call.
   */
  othersOf({ kernel, rows }: Page): Uint32Array {
    const listed = kernel.listOthers(rows.keys.byteOffset, columnBytes, rows.count, ...this.#index);
    return this.#listed.subarray(0, listed);
  }
}
