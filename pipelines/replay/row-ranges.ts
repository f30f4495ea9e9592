import { maskRuc, rucLength } from '../../schemas/ruc.ts';
import { type Fingerprint, FingerprintSum } from './row-hash.ts';
import { everyKey, type KeyRange, type StoredRow } from './stored.ts';
import { type DifferenceKind, type ListedDifference, type PartReport, ReplayError } from './types.ts';

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

/** Counts what differs in one part and lists the first ones for an operator, natural persons masked. */
export class Differences {
  readonly report: PartReport = { rows: 0, missing: 0, extra: 0, differs: 0 };
  readonly #where: ListedDifference['where'];
  readonly #listed: ListedDifference[];
  readonly #maxListed: number;

  /** `listed` is shared by all parts of a report. */
  constructor(where: ListedDifference['where'], listed: ListedDifference[], maxListed: number) {
    this.#where = where;
    this.#listed = listed;
    this.#maxListed = maxListed;
  }

  get total(): number {
    return this.report.missing + this.report.extra + this.report.differs;
  }

  add(kind: DifferenceKind, key: number, edition: number | null): void {
    this.report[kind] += 1;
    if (this.#listed.length >= this.#maxListed) return;
    this.#listed.push({ where: this.#where, kind, id: shownId(key), edition });
  }

  /** Both sides by key. */
  compare(expected: RangeRows, found: readonly StoredRow[], edition: number | null): void {
    let at = 0;
    for (const row of found) {
      while (at < expected.rows && expected.keys[at]! < row.key) this.add('missing', expected.keys[at++]!, edition);
      if (at === expected.rows || expected.keys[at]! > row.key) {
        this.add('extra', row.key, edition);
        continue;
      }
      const same = expected.xx[at] === row.xx && expected.crc[at] === row.crc && !row.contradictory;
      if (!same) this.add('differs', row.key, edition);
      at += 1;
    }
    while (at < expected.rows) this.add('missing', expected.keys[at++]!, edition);
  }
}

/** Other ids than RUCs stand under a number made from them, which says nothing to a reader and is no less an id. */
function shownId(key: number): string {
  const text = String(key);
  return text.length === rucLength ? maskRuc(text) : 'otro documento';
}
