import type { RegisterName } from '../../schemas/registers.ts';
import { keyAt } from '../registers/ruc-key.ts';
import type { EditionIndex } from './edition-index.ts';
import { CompareError } from './errors.ts';
import { RowStore, type StoredRow } from './row-store.ts';
import { hashOfRow } from './scan.ts';

/** The rows of an edition by key, out of its row store, each proved to be the one that its index means. */
export class BaseRows {
  readonly index: EditionIndex;
  readonly #store: RowStore;
  readonly #hash = new Int32Array(2);

  /** Errors: `index_missing`. */
  constructor(folder: string, register: RegisterName, index: EditionIndex) {
    this.index = index;
    this.#store = new RowStore(folder, register, index.header.segments);
  }

  /** How many of the rows that lie close together will be read: many are read by the megabyte, few by themselves. */
  expect(rows: number, of: number): void {
    this.#store.expect(rows * 20 > of ? 'many' : 'few');
  }

  /** The row of a rank, valid until the next call. Errors: `index_damaged`. */
  read(key: number, rank: number): StoredRow {
    const { entries, header } = this.index;
    const row = this.#store.read(entries[rank * 3 + 2]! >>> 0);
    hashOfRow(row.view, row.start, row.end, header.hashSeed, this.#hash);
    const same = this.#hash[0] === entries[rank * 3] && this.#hash[1] === entries[rank * 3 + 1];
    if (!same || keyAt(row.bytes, row.start, row.end) !== key) {
      throw new CompareError('index_damaged', 'A row of the row store does not match its index: rebuild it.');
    }
    return row;
  }

  /** The row of a key, or null. */
  find(key: number): StoredRow | null {
    const rank = this.index.rankOf(key);
    return rank < 0 ? null : this.read(key, rank);
  }

  close(): void {
    this.#store.close();
  }
}
