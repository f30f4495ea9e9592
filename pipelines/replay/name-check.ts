import { foldName, searchedWords } from '../../schemas/names.ts';
import { longestLength, readSearchedCells, type SearchedCells, standingOf } from '../consumers/company-names.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import type { ChangeRecords } from './change-records.ts';
import { isSame, RowHash } from './row-hash.ts';
import { type Differences, type RangeRows, RowRanges } from './row-ranges.ts';
import {
  fingerprintOf,
  inTableOrder,
  type KeyRange,
  queryRows,
  type StoredFingerprint,
  type StoredRow,
  type Sums,
  storedRowsOf,
} from './stored.ts';
import type { VerifyLimits } from './types.ts';

const firstCompany = 20_000_000_000;
const lastCompany = 20_999_999_999;

/**
 * Compares the index of names with the companies of the state, which it takes in the order of their RUCs. Each company
 * must have the row that today's `foldName` gives it, and no other row may exist. A company whose name has no letters
 * or digits has no row. The check does not compare which edition wrote a row.
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

  /** Takes a live row of the state. If it returns a promise, wait for it before the next row. */
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
    const lost = await this.#stored.companiesWithLostWords(this.#limits.maxRangeRows);
    for (const ruc of lost) this.#differences.add('differs', ruc, null);
  }

  async #compare(expected: RangeRows): Promise<void> {
    const found = await this.#stored.fingerprint(expected.range);
    if (isSame(expected.fingerprint, found) && found.contradictory === 0) return;
    this.#differences.compare(expected, await this.#stored.rows(expected.range), null);
  }
}

/** The text that StoredNames hashes in ClickHouse, or null when this name has no row. Cells contain no line ends. */
function nameTextOf(ruc: number, { nombre, estado, condicion, ubigeo }: SearchedCells): string | null {
  const { base, form, enie } = foldName(nombre);
  if (base === '') return null;
  const standing = standingOf({ estado, condicion });
  const length = Math.min(base.length, longestLength);
  return [ruc, base, form, searchedWords(base), enie, standing, length, estado, condicion, ubigeo].join('\n');
}

/** SQL for the text that `nameTextOf` returns. */
const nameText = `concatWithSeparator('\\n', toString(ruc), name, form, words, enie, toString(standing), toString(length),
  estado, condicion, ubigeo)`;

/** The table's sort key: a name at a place in the order of results. Of a company's places, only one is live. */
const place = 'standing, length, ruc, name';

/** Selects the newest row of each place, if it is live. Except for `version`, it sorts in the table's own order. */
const liveNames = `
  SELECT * FROM (
    SELECT ${place}, version, min(xx_of) AS xx, min(crc_of) AS crc, max(is_deleted) AS deleted,
      max(xx_of) <> min(xx_of) OR max(crc_of) <> min(crc_of) OR max(is_deleted) <> min(is_deleted) AS contradictory
    FROM (
      SELECT ${place}, version, is_deleted, xxHash32(text) AS xx_of, CRC32(text) AS crc_of
      FROM (SELECT ${place}, version, is_deleted, ${nameText} AS text FROM {table:Identifier}
        WHERE version >= {since:UInt64} AND ruc >= {from:UInt64} AND ruc <= {to:UInt64})
    )
    GROUP BY ${place}, version ORDER BY ${place}, version DESC LIMIT 1 BY ${place}
  ) WHERE deleted = 0`;

/** Selects one row per company. A company that is live at two places counts as contradictory. */
const namesByCompany = `
  SELECT ruc, min(xx) AS xx, min(crc) AS crc, count() > 1 OR max(contradictory) AS contradictory
  FROM (${liveNames}) GROUP BY ruc`;

/**
 * Reads the index of names in ClickHouse. It ignores rows of editions before `since`, the last edition that wrote every
 * row, because another parser read those names. The table is not sorted by RUC, so every query reads the whole table.
 */
export class StoredNames {
  readonly #clickhouse: ClickHouseClient;
  readonly #tables: { names: string; words: string };
  readonly #since: number;

  constructor(clickhouse: ClickHouseClient, tables: { names: string; words: string }, since: number) {
    this.#clickhouse = clickhouse;
    this.#tables = tables;
    this.#since = since;
  }

  async fingerprint(range: KeyRange): Promise<StoredFingerprint> {
    const [row] = await this.#query<Sums>(
      `SELECT count() AS live, sum(xx) AS xx_sum, sum(crc) AS crc_sum, 0 AS later, countIf(contradictory) AS unclear
       FROM (${namesByCompany})`,
      { table: this.#tables.names, ...range },
    );
    return fingerprintOf(row!);
  }

  async rows(range: KeyRange): Promise<StoredRow[]> {
    const query = `SELECT ruc, xx, crc, contradictory FROM (${namesByCompany}) ORDER BY ruc`;
    return storedRowsOf(await this.#query(query, { table: this.#tables.names, ...range }));
  }

  /** Companies with a word that the table of words lacks. A search by its ending or with a typing error misses them. */
  async companiesWithLostWords(maxCompanies: number): Promise<number[]> {
    const found = await this.#query<{ ruc: string }>(
      `SELECT DISTINCT ruc FROM (
         SELECT ruc, arrayJoin(splitByChar(' ', words)) AS word FROM {table:Identifier}
         WHERE is_deleted = 0 AND version >= {since:UInt64}
       ) WHERE word NOT IN (SELECT word FROM {words:Identifier}) ORDER BY ruc LIMIT {maxCompanies:UInt64}`,
      { table: this.#tables.names, words: this.#tables.words, maxCompanies },
    );
    return found.map(({ ruc }) => Number(ruc));
  }

  #query<Row>(query: string, parameters: Record<string, string | number>): Promise<Row[]> {
    return queryRows(this.#clickhouse, query, { since: this.#since, ...parameters }, inTableOrder);
  }
}
