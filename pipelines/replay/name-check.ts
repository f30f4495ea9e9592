import { foldName, searchedWords } from '../../schemas/names.ts';
import { longestLength, standingOf } from '../consumers/company-names.ts';
import type { ChangeRecords } from './change-records.ts';
import type { Differences } from './differences.ts';
import { isSame } from './fingerprint.ts';
import { RowHash } from './row-hash.ts';
import { type RangeRows, RowRanges } from './row-ranges.ts';
import type { StoredNames } from './stored-names.ts';
import type { VerifyLimits } from './types.ts';

const firstCompany = 20_000_000_000;
const lastCompany = 20_999_999_999;

/**
 * The index of names against the companies of the state, which it meets in the order of their RUCs: each has its row with
 * today's folding and nobody else has one. A name without letters and digits has none. Which edition wrote a row is not
 * compared.
 */
export class NameCheck {
  readonly #stored: StoredNames;
  readonly #differences: Differences;
  readonly #limits: VerifyLimits;
  readonly #ranges: RowRanges;
  readonly #hash = new RowHash();

  constructor(stored: StoredNames, differences: Differences, limits: VerifyLimits) {
    this.#stored = stored;
    this.#differences = differences;
    this.#limits = limits;
    this.#ranges = new RowRanges(limits.maxRangeRows, (expected) => this.#compare(expected));
  }

  /** A live row of the state. A promise as RowRanges.add gives one. */
  meet(record: ChangeRecords): Promise<void> | undefined {
    const ruc = record.stateKey;
    if (ruc < firstCompany || ruc > lastCompany) return undefined;
    const text = nameTextOf(ruc, searchedCellsOf(record));
    if (text === null) return undefined;
    this.#differences.report.rows += 1;
    this.#hash.ofText(text);
    return this.#ranges.add(ruc, this.#hash.xx, this.#hash.crc);
  }

  /** Once all rows were met. */
  async end(): Promise<void> {
    await this.#ranges.end();
    const lost = await this.#stored.companiesWithLostWords(this.#limits.maxRangeRows);
    for (const ruc of lost) this.#differences.add('differs', ruc, null);
  }

  async #compare(expected: RangeRows): Promise<void> {
    const found = await this.#stored.fingerprint(expected.range);
    if (isSame(expected.fingerprint, found) && found.contradictory === 0) return;
    this.#differences.compare(expected, await this.#stored.rows(expected.range), null);
  }
}

type SearchedCells = [nombre: string, estado: string, condicion: string, ubigeo: string];

/** The first of the daily register in every release so far. */
function searchedCellsOf(record: ChangeRecords): SearchedCells {
  const cursor = record.cellsAt(record.afterAt);
  const decoder = Buffer.from(cursor.bytes.buffer, cursor.bytes.byteOffset, cursor.bytes.byteLength);
  const next = () => {
    const length = cursor.stringLength();
    const start = cursor.at;
    cursor.at += length;
    return decoder.toString('utf8', start, cursor.at);
  };
  return [next(), next(), next(), next()];
}

/** What StoredNames has ClickHouse hash; null: such a name has no row. Texts of the register hold no line end. */
function nameTextOf(ruc: number, [nombre, estado, condicion, ubigeo]: SearchedCells): string | null {
  const { base, form, enie } = foldName(nombre);
  if (base === '') return null;
  const standing = standingOf({ estado, condicion });
  const length = Math.min(base.length, longestLength);
  return [ruc, base, form, searchedWords(base), enie, standing, length, estado, condicion, ubigeo].join('\n');
}
