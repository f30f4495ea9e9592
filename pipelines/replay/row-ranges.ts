import { type RegisterName, registers } from '../../schemas/registers.ts';
import { maskRuc, rucLength } from '../../schemas/ruc.ts';
import { type Fingerprint, FingerprintSum } from './row-hash.ts';
import { everyKey, type KeyRange, type StoredRow } from './stored.ts';
import { type CheckReport, type DifferenceKind, type ListedDifference, ReplayError } from './types.ts';

/**
 * Hashes of the rows that a range must have according to the change files, in order of key. `RowRanges` overwrites them
 * once `compare` has ended.
 */
export interface RangeRows {
  range: KeyRange;
  rows: number;
  keys: Float64Array;
  xx: Uint32Array;
  crc: Uint32Array;
  fingerprint: Fingerprint;
}

/**
 * Collects row hashes into ranges of keys, and compares each full range with ClickHouse's rows. ClickHouse reads one
 * range while this process folds the change files for the next range. The ranges together cover every possible key.
 * Otherwise ClickHouse could have extra rows between two ranges.
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

  /**
   * Adds a row. Its key must be higher than the key of the row before. Returns a promise if the current range is full.
   * Await the promise before the next call. The promise waits for the comparison of the previous range and then adds
   * the row to a new range.
   */
  add(key: number, xx: number, crc: number): Promise<void> | undefined {
    const filled = this.#rows === this.#maxRows ? this.#close(String(this.#filling.keys[this.#rows - 1])) : undefined;
    if (filled === undefined) this.#put(key, xx, crc);
    return filled?.then(() => this.#put(key, xx, crc));
  }

  /** Compares the last range, which ends at the highest possible key, and waits for the comparison. */
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

const maxSupplierRows = 2_000_000;

/**
 * Sorts its rows in memory before it compares them. A change file of suppliers is in the order of their ids as text,
 * but ranges need the order of the numeric keys.
 */
class SortedRanges extends RowRanges {
  readonly #unsorted: { key: number; xx: number; crc: number }[] = [];

  override add(key: number, xx: number, crc: number): undefined {
    if (this.#unsorted.length >= maxSupplierRows) {
      throw new ReplayError('too_many_rows', `a register of suppliers with more than ${maxSupplierRows} rows`);
    }
    this.#unsorted.push({ key, xx, crc });
  }

  override async end(): Promise<void> {
    this.#unsorted.sort((one, other) => one.key - other.key);
    for (const { key, xx, crc } of this.#unsorted) await super.add(key, xx, crc);
    await super.end();
  }
}

/** Makes a register's ranges. Rows come in the order of its change files; those of suppliers are sorted first. */
export function makeRanges(register: RegisterName, ...options: ConstructorParameters<typeof RowRanges>): RowRanges {
  return registers[register].key === 'supplier' ? new SortedRanges(...options) : new RowRanges(...options);
}

/** Largest number of differences that are listed. All differences are counted. */
const maxListed = 100;

/** Counts the differences of one check and lists the first ones for an operator. It masks persons' ids. */
export class Differences {
  readonly report: CheckReport = { rows: 0, missing: 0, extra: 0, differs: 0 };
  readonly #where: ListedDifference['where'];
  readonly #listed: ListedDifference[];

  /** @param listed the differences that are listed; all checks of a verification share this list and its `maxListed` */
  constructor(where: ListedDifference['where'], listed: ListedDifference[]) {
    this.#where = where;
    this.#listed = listed;
  }

  get total(): number {
    return this.report.missing + this.report.extra + this.report.differs;
  }

  add(kind: DifferenceKind, key: number, edition: number | null): void {
    this.report[kind] += 1;
    if (this.#listed.length >= maxListed) return;
    this.#listed.push({ where: this.#where, kind, id: shownId(key), edition });
  }

  /** Counts and lists the differences between the expected and the found rows. Both must be in order of key. */
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

/** A key without eleven digits is a hash of an id. It helps no operator but can identify a person, so it is hidden. */
function shownId(key: number): string {
  const text = String(key);
  return text.length === rucLength ? maskRuc(text) : 'otro documento';
}
