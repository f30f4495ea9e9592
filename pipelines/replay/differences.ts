import { maskRuc, rucLength } from '../../schemas/ruc.ts';
import type { RangeRows } from './row-ranges.ts';
import type { StoredRow } from './stored.ts';
import type { DifferenceKind, ListedDifference, PartReport } from './types.ts';

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
