import { foldName } from '../../schemas/names/fold.ts';
import { lettersOf, searchedWords } from '../../schemas/names/spans.ts';
import {
  longestLength,
  maxStoredLetters,
  readSearchedCells,
  type SearchedCells,
  standingOf,
} from '../consumers/company-names.ts';
import { wordTable } from '../consumers/materialize.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import type { ChangeRecords } from './change-records.ts';
import { isSame, RowHash } from './row-hash.ts';
import { type Differences, type RangeRows, RowRanges } from './row-ranges.ts';
import { fingerprintOf, inTableOrder, newestOf, queryRows, type Sums, storedRowsOf } from './stored.ts';
import type { VerifyInput } from './types.ts';

const firstCompany = 20_000_000_000;
const lastCompany = 20_999_999_999;

/**
 * Compares the index of names in ClickHouse with the companies of the state. The caller passes the state's rows in the
 * order of their RUCs.
 * - Each company must have the index row that `foldName` makes of its name today.
 * - A company whose name has no letters or digits must have no index row. No other index row may exist.
 * - Index rows from before the last full edition do not count, because another parser read their names.
 * - The check does not compare which edition wrote an index row.
 */
export class NameCheck {
  readonly #clickhouse: ClickHouseClient;
  readonly #input: VerifyInput;
  readonly #differences: Differences;
  readonly #maxRangeRows: number;
  readonly #ranges: RowRanges;
  readonly #hash = new RowHash();

  constructor(clickhouse: ClickHouseClient, input: VerifyInput, differences: Differences, maxRangeRows: number) {
    this.#clickhouse = clickhouse;
    this.#input = input;
    this.#differences = differences;
    this.#maxRangeRows = maxRangeRows;
    this.#ranges = new RowRanges(maxRangeRows, (expected) => this.#compare(expected));
  }

  /** Takes a row of the state; only companies count. If the result is a promise, await it before the next call. */
  take(record: ChangeRecords): Promise<void> | undefined {
    const ruc = record.stateKey;
    if (ruc < firstCompany || ruc > lastCompany) return undefined;
    const text = nameTextOf(ruc, readSearchedCells(record.cellsAt(record.afterAt)));
    if (text === null) return undefined;
    this.#differences.report.rows += 1;
    this.#hash.ofText(text);
    return this.#ranges.add(ruc, this.#hash.xx, this.#hash.crc);
  }

  /** Call this after the last row of the state. */
  async end(): Promise<void> {
    await this.#ranges.end();
    // Find companies with a word that the table of words lacks. Two searches would miss such a company: one with only
    // the beginning of the word, and one with a typing error in the word.
    const lost = await this.#query<{ ruc: string }>(
      `SELECT DISTINCT ruc FROM (
         SELECT ruc, arrayJoin(splitByChar(' ', words)) AS word FROM {table:Identifier}
         WHERE is_deleted = 0 AND version >= {since:UInt64}
       ) WHERE word NOT IN (SELECT word FROM {words:Identifier}) ORDER BY ruc LIMIT {maxCompanies:UInt64}`,
      { words: wordTable, maxCompanies: this.#maxRangeRows },
    );
    for (const { ruc } of lost) this.#differences.add('differs', Number(ruc), null);
  }

  async #compare(expected: RangeRows): Promise<void> {
    const [sums] = await this.#query<Sums>(
      `SELECT count() AS live, sum(xx) AS xx_sum, sum(crc) AS crc_sum, 0 AS later, countIf(contradictory) AS unclear
       FROM (${namesByCompany})`,
      expected.range,
    );
    const found = fingerprintOf(sums!);
    if (isSame(expected.fingerprint, found) && found.contradictory === 0) return;
    const rows = `SELECT ruc, xx, crc, contradictory FROM (${namesByCompany}) ORDER BY ruc`;
    this.#differences.compare(expected, storedRowsOf(await this.#query(rows, expected.range)), null);
  }

  /** Every query reads the whole table, because the table is not sorted by RUC. */
  #query<Row>(query: string, parameters: object): Promise<Row[]> {
    const { tables, lastFull } = this.#input;
    const all = { table: tables.names, since: lastFull, ...parameters };
    return queryRows(this.#clickhouse, query, all, inTableOrder);
  }
}

/**
 * Returns the text to hash for a company's row in the index of names. Null when the company must not have a row there.
 * `nameText` makes the same text in SQL.
 */
function nameTextOf(ruc: number, { nombre, estado, condicion, ubigeo }: SearchedCells): string | null {
  const name = foldName(nombre);
  const { base, form, enie } = name;
  if (base === '') return null;
  const standing = standingOf({ estado, condicion });
  const length = Math.min(base.length, longestLength);
  const letters = lettersOf(name.spans, maxStoredLetters).join(' ');
  return [ruc, base, form, searchedWords(name), letters, enie, standing, length, estado, condicion, ubigeo].join('\n');
}

/** SQL for the text that `nameTextOf` returns. */
const nameText = `concatWithSeparator('\\n', toString(ruc), name, form, words, letters, enie, toString(standing),
  toString(length), estado, condicion, ubigeo)`;

/**
 * The sort key of the index of names (the table `ranked_name`). A search reads the rows in this order. A company whose
 * sort key changes gets a new row. Its old row is marked as deleted.
 */
const place = 'standing, length, ruc, name';

/**
 * Selects the newest row of each sort key, unless this row is deleted. Rows from before the last full edition (`since`)
 * are left out, because another parser read their names.
 */
const liveNames = `SELECT * FROM (${newestOf(place, nameText, 'version >= {since:UInt64}')}) WHERE deleted = 0`;

/** Selects one row per company. A company with two rows that are not deleted counts as contradictory. */
const namesByCompany = `
  SELECT ruc, min(xx) AS xx, min(crc) AS crc, count() > 1 OR max(contradictory) AS contradictory
  FROM (${liveNames}) GROUP BY ruc`;
