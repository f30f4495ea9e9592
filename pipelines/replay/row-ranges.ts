import { maskRuc, rucLength } from '../../schemas/ruc.ts';
import { type Fingerprint, FingerprintSum } from './row-hash.ts';
import { everyKey, type KeyRange, type StoredRow } from './stored.ts';
import { type CheckReport, type DifferenceKind, type ListedDifference, ReplayError } from './types.ts';

/** The hashes of a range's rows in the archive, in order of key. Valid until the promise of `compare` settles. */
export interface RangeRows {
  range: KeyRange;
  rows: number;
  keys: Float64Array;
  xx: Uint32Array;
  crc: Uint32Array;
  fingerprint: Fingerprint;
}

/**
 * Collects row hashes into ranges of keys and compares a range while the next one fills: the engine reads its side of a
 * range while this process folds the next. The ranges together cover every possible key, so that extra rows between two
 * expected ones are found.
 */
export class RowRanges {
  readonly #compare: (rows: RangeRows) => Promise<void>;
  readonly #maxRows: number;
  #filling: ReturnType<typeof makeBuffers>;
  #idle: ReturnType<typeof makeBuffers>;
  #rows = 0;
  #sum = new FingerprintSum();
  #from = everyKey.from;
  #comparing: Promise<void> = Promise.resolve();

  constructor(maxRangeRows: number, compare: (rows: RangeRows) => Promise<void>) {
    this.#compare = compare;
    this.#maxRows = maxRangeRows;
    this.#filling = makeBuffers(maxRangeRows);
    this.#idle = makeBuffers(maxRangeRows);
  }

  /** Call it with rising keys. Returns a promise when the range is full, to wait for the comparison before it. */
  add(key: number, xx: number, crc: number): Promise<void> | undefined {
    const filled = this.#rows === this.#maxRows ? this.#close(String(this.#filling.keys[this.#rows - 1])) : undefined;
    if (filled === undefined) this.#put(key, xx, crc);
    return filled?.then(() => this.#put(key, xx, crc));
  }

  /** Compares the last range, which reaches to the highest possible key. */
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
    // The promise is awaited when the next range is full, or at the end. Until then a rejection must not end the
    // process.
    comparing.catch(() => {});
    this.#comparing = comparing;
    this.#filling = this.#idle;
    this.#idle = full;
    this.#rows = 0;
    this.#sum = new FingerprintSum();
    this.#from = to === everyKey.to ? to : String(Number(to) + 1);
  }
}

function makeBuffers(rows: number) {
  return { keys: new Float64Array(rows), xx: new Uint32Array(rows), crc: new Uint32Array(rows) };
}

/** Collects rows that come in order of a supplier's id, and passes them on in order of key. */
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

  async addTo(ranges: RowRanges): Promise<void> {
    this.#rows.sort((one, other) => one.key - other.key);
    for (const { key, xx, crc } of this.#rows) await ranges.add(key, xx, crc);
  }
}

/** Counts the differences of one check and lists the first ones for an operator, with natural persons masked. */
export class Differences {
  readonly report: CheckReport = { rows: 0, missing: 0, extra: 0, differs: 0 };
  readonly #where: ListedDifference['where'];
  readonly #listed: ListedDifference[];
  readonly #maxListed: number;

  /** `listed` is shared by all checks of a verification. */
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

  /** Both sides are in order of key. */
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

/** An id other than a RUC has a key derived from it, which means nothing to a reader and still identifies a person. */
function shownId(key: number): string {
  const text = String(key);
  return text.length === rucLength ? maskRuc(text) : 'otro documento';
}
