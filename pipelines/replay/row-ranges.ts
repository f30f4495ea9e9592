import { ReplayError } from './errors.ts';
import { type Fingerprint, FingerprintSum } from './fingerprint.ts';
import { everyKey, type KeyRange } from './stored.ts';

/** The rows of a range of keys as the archive has them, by key; valid until the promise of whoever was given it is settled. */
export interface RangeRows {
  range: KeyRange;
  rows: number;
  keys: Float64Array;
  xx: Uint32Array;
  crc: Uint32Array;
  fingerprint: Fingerprint;
}

/**
 * Collects row hashes into ranges of keys and hands each on while the next one fills: the engine reads its side of a range as
 * long as this process folds the next. Together the ranges are all keys there can be, so nothing that stands between two rows
 * goes unseen.
 */
export class RowRanges {
  readonly #compare: (rows: RangeRows) => Promise<void>;
  readonly #maxRows: number;
  #filling: Buffers;
  #idle: Buffers;
  #rows = 0;
  #sum = new FingerprintSum();
  #from = everyKey.from;
  #comparing: Promise<void> = Promise.resolve();

  constructor(maxRangeRows: number, compare: (rows: RangeRows) => Promise<void>) {
    this.#compare = compare;
    this.#maxRows = maxRangeRows;
    this.#filling = new Buffers(maxRangeRows);
    this.#idle = new Buffers(maxRangeRows);
  }

  /** Keys in rising order. A promise where a range is full and the one before it is still being compared. */
  add(key: number, xx: number, crc: number): Promise<void> | undefined {
    const filled = this.#rows === this.#maxRows ? this.#close(String(this.#filling.keys[this.#rows - 1])) : undefined;
    if (filled === undefined) this.#put(key, xx, crc);
    return filled?.then(() => this.#put(key, xx, crc));
  }

  /** The last range reaches to the highest key; there is always one. */
  async end(): Promise<void> {
    await this.#close(everyKey.to);
    await this.#comparing;
  }

  #put(key: number, xx: number, crc: number): void {
    const { keys, xx: xxs, crc: crcs } = this.#filling;
    keys[this.#rows] = key;
    xxs[this.#rows] = xx;
    crcs[this.#rows] = crc;
    this.#rows += 1;
    this.#sum.add(xx, crc);
  }

  async #close(to: string): Promise<void> {
    await this.#comparing;
    const full = this.#filling;
    const range = { from: this.#from, to };
    const comparing = this.#compare({ range, rows: this.#rows, ...full, fingerprint: this.#sum.sum() });
    // Awaited when the next range is full, or at the end.
    comparing.catch(() => {});
    this.#comparing = comparing;
    this.#filling = this.#idle;
    this.#idle = full;
    this.#rows = 0;
    this.#sum = new FingerprintSum();
    this.#from = to === everyKey.to ? to : String(Number(to) + 1);
  }
}

class Buffers {
  readonly keys: Float64Array;
  readonly xx: Uint32Array;
  readonly crc: Uint32Array;

  constructor(rows: number) {
    this.keys = new Float64Array(rows);
    this.xx = new Uint32Array(rows);
    this.crc = new Uint32Array(rows);
  }
}

/** Holds rows whose keys come in another order (by a supplier's id) and gives them by key. */
export class SortedRows {
  readonly #rows: { key: number; xx: number; crc: number }[] = [];
  readonly #maxRows: number;

  constructor(maxRows: number) {
    this.#maxRows = maxRows;
  }

  add(key: number, xx: number, crc: number): undefined {
    if (this.#rows.length >= this.#maxRows) {
      throw new ReplayError('too_many_rows', `a register of suppliers with more than ${this.#maxRows} rows`);
    }
    this.#rows.push({ key, xx, crc });
  }

  async giveTo(ranges: RowRanges): Promise<void> {
    this.#rows.sort((one, other) => one.key - other.key);
    for (const { key, xx, crc } of this.#rows) await ranges.add(key, xx, crc);
  }
}
