import { foldName, searchedWords } from '../../schemas/names.ts';
import { longestLength, readSearchedCells, type SearchedCells, standingOf } from '../consumers/company-names.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import type { ChangeRecords } from './change-records.ts';
import { type Fingerprint, isSame, RowHash } from './row-hash.ts';
import { type Differences, type RangeRows, RowRanges } from './row-ranges.ts';
import { inTableOrder, type KeyRange, type StoredRow, storedRowsOf } from './stored.ts';
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
    const text = nameTextOf(ruc, readSearchedCells(record.cellsAt(record.afterAt)));
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

/** What StoredNames has ClickHouse hash; null: such a name has no row. Texts of the register hold no line end. */
function nameTextOf(ruc: number, { nombre, estado, condicion, ubigeo }: SearchedCells): string | null {
  const { base, form, enie } = foldName(nombre);
  if (base === '') return null;
  const standing = standingOf({ estado, condicion });
  const length = Math.min(base.length, longestLength);
  return [ruc, base, form, searchedWords(base), enie, standing, length, estado, condicion, ubigeo].join('\n');
}

/** The text that NameCheck hashes. */
const nameText = `concatWithSeparator('\\n', toString(ruc), name, form, words, enie, toString(standing), toString(length),
  estado, condicion, ubigeo)`;

/** What a row is about in the table's order: a name of a company at a place. It is live at one place, and at no other any longer. */
const place = 'standing, length, ruc, name';

/** The newest row of each place, where it is live. In the table's own order, but for the sort. */
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

/** By company. One that is live at two places contradicts itself. */
const namesByCompany = `
  SELECT ruc, min(xx) AS xx, min(crc) AS crc, count() > 1 OR max(contradictory) AS contradictory
  FROM (${liveNames}) GROUP BY ruc`;

/**
 * The index of names as ClickHouse has it, from edition `since` on, the last one that wrote every row: what is older and was not
 * written again is what another parser read, and stands for nothing. A range of RUCs is not one of the table's order: each question
 * reads all of it.
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

  async fingerprint(range: KeyRange): Promise<Fingerprint & { contradictory: number }> {
    const [row] = await this.#query<{ names: string; xx_sum: string; crc_sum: string; unclear: string }>(
      `SELECT count() AS names, sum(xx) AS xx_sum, sum(crc) AS crc_sum, countIf(contradictory) AS unclear
       FROM (${namesByCompany})`,
      { table: this.#tables.names, ...range },
    );
    const { names, xx_sum, crc_sum, unclear } = row!;
    return { rows: Number(names), xx: BigInt(xx_sum), crc: BigInt(crc_sum), contradictory: Number(unclear) };
  }

  /** By RUC. */
  async rows(range: KeyRange): Promise<StoredRow[]> {
    const query = `SELECT ruc, xx, crc, contradictory FROM (${namesByCompany}) ORDER BY ruc`;
    return storedRowsOf(await this.#query(query, { table: this.#tables.names, ...range }));
  }

  /** Companies with a word that the vocabulary lacks: its ends and its typing errors would not be found. */
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

  async #query<Row>(query: string, parameters: Record<string, string | number>): Promise<Row[]> {
    const result = await this.#clickhouse.query({
      query,
      query_params: { since: this.#since, ...parameters },
      format: 'JSONEachRow',
      clickhouse_settings: inTableOrder,
    });
    return await result.json<Row>();
  }
}
