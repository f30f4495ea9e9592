import type { ClickHouseSettings } from '@clickhouse/client';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import type { Fingerprint } from './row-hash.ts';

/** A range of keys as decimal numbers. It includes both `from` and `to`. */
export interface KeyRange {
  from: string;
  to: string;
}

export const everyKey: KeyRange = { from: '0', to: '18446744073709551615' };

export interface StoredFingerprint extends Fingerprint {
  /** Number of rows of a later edition than the verified one. */
  later: number;
  /** Number of keys with two different rows of the same version. A reader could get either row. */
  contradictory: number;
}

export interface StoredRow {
  key: number;
  xx: number;
  crc: number;
  contradictory: boolean;
}

/** Verification runs beside look-ups, so its queries get one thread with a lower priority. */
const verifySettings = {
  max_threads: 1,
  os_thread_priority: '15',
  max_memory_usage: String(1024 * 1024 * 1024),
  max_execution_time: 600,
  output_format_json_quote_64bit_integers: 1,
} as const;

/**
 * Settings for a query that groups a whole table by its sort key, so that ClickHouse holds only the current key in
 * memory. Queries of the state do not use them: the state is read in ranges, and its granules (units of reading) are
 * small. With these settings, reading a range takes some twenty times as long as aggregating it in memory.
 */
export const inTableOrder = { ...verifySettings, optimize_aggregation_in_order: 1 } as const;

// SQL for the bytes that RowHash.ofState and RowHash.ofHistory hash.
const stateText = 'concat(row, reinterpretAsFixedString(ruc), reinterpretAsFixedString(version))';
const historyText = `concat(ifNull(before, '-'), ifNull(after, '-'), reinterpretAsFixedString(ruc),
  reinterpretAsFixedString(edition), reinterpretAsFixedString(CAST(op AS Int8)),
  reinterpretAsFixedString(toUnixTimestamp64Milli(detected_at)), reinterpretAsFixedString(ifNull(corrects, toUInt64(0))))`;

/**
 * Selects the newest version of each key. ClickHouse may have several rows of a version until it has merged them. A key
 * is contradictory if the rows of its newest version differ.
 * @param key SQL for the columns of the key
 * @param text SQL for the bytes to hash
 */
export const newestOf = (key: string, text: string, condition: string) => `
  SELECT ${key}, version, min(xx_of) AS xx, min(crc_of) AS crc, max(is_deleted) AS deleted,
    max(xx_of) <> min(xx_of) OR max(crc_of) <> min(crc_of) OR max(is_deleted) <> min(is_deleted) AS contradictory
  FROM (
    SELECT ${key}, version, is_deleted, xxHash32(text) AS xx_of, CRC32(text) AS crc_of
    FROM (SELECT ${key}, version, is_deleted, ${text} AS text FROM {table:Identifier}
      WHERE ${condition} AND ruc >= {from:UInt64} AND ruc <= {to:UInt64})
  )
  GROUP BY ${key}, version ORDER BY ${key}, version DESC LIMIT 1 BY ${key}`;

const newestRows = newestOf('ruc', stateText, 'register = {register:UInt8}');

/** Selects hashes of each change. It groups by the table's own order, so ClickHouse holds only one key in memory. */
const historyRows = `
  SELECT ruc, edition, min(xx_of) AS xx, min(crc_of) AS crc,
    max(xx_of) <> min(xx_of) OR max(crc_of) <> min(crc_of) AS contradictory
  FROM (
    SELECT ruc, edition, xxHash32(text) AS xx_of, CRC32(text) AS crc_of
    FROM (SELECT ruc, edition, ${historyText} AS text FROM {table:Identifier} WHERE register = {register:UInt8} AND ruc >= {from:UInt64} AND ruc <= {to:UInt64})
  )
  GROUP BY ruc, edition`;

/** Reads hashes of one register's state and history from ClickHouse. */
export class StoredRows {
  readonly #clickhouse: ClickHouseClient;
  readonly #tables: { state: string; history: string };
  readonly #register: number;

  constructor(clickhouse: ClickHouseClient, tables: { state: string; history: string }, register: RegisterName) {
    this.#clickhouse = clickhouse;
    this.#tables = tables;
    this.#register = registers[register].code;
  }

  /** Fingerprint of a range's rows that are not deleted. Its `later` counts the rows of editions after `edition`. */
  async stateFingerprint(range: KeyRange, edition: number): Promise<StoredFingerprint> {
    const [row] = await this.#query<Sums>(
      `SELECT countIf(deleted = 0) AS live, sumIf(xx, deleted = 0) AS xx_sum, sumIf(crc, deleted = 0) AS crc_sum,
         countIf(version > {edition:UInt64}) AS later, countIf(contradictory) AS unclear
       FROM (${newestRows})`,
      { table: this.#tables.state, edition, ...range },
    );
    return fingerprintOf(row!);
  }

  /** The rows of a range that are not deleted, in order of key. */
  async stateRows(range: KeyRange): Promise<StoredRow[]> {
    const query = `SELECT ruc, xx, crc, contradictory FROM (${newestRows}) WHERE deleted = 0 ORDER BY ruc`;
    return storedRowsOf(await this.#query(query, { table: this.#tables.state, ...range }));
  }

  /** Fingerprints of all changes, by edition. */
  async historyFingerprints(): Promise<Map<number, StoredFingerprint>> {
    const rows = await this.#query<Sums & { edition: string }>(
      `SELECT edition, count() AS live, sum(xx) AS xx_sum, sum(crc) AS crc_sum, 0 AS later, countIf(contradictory) AS unclear
       FROM (${historyRows}) GROUP BY edition`,
      { table: this.#tables.history, ...everyKey },
      inTableOrder,
    );
    return new Map(rows.map((row) => [Number(row.edition), fingerprintOf(row)]));
  }

  /** One edition's changes in a range, in order of key. */
  async historyRowsOf(edition: number, range: KeyRange): Promise<StoredRow[]> {
    const query = `SELECT ruc, xx, crc, contradictory FROM (${historyRows}) WHERE edition = {edition:UInt64} ORDER BY ruc`;
    return storedRowsOf(await this.#query(query, { table: this.#tables.history, edition, ...range }, inTableOrder));
  }

  async #query<Row>(
    query: string,
    parameters: Record<string, string | number>,
    settings: ClickHouseSettings = verifySettings,
  ): Promise<Row[]> {
    return await queryRows(this.#clickhouse, query, { register: this.#register, ...parameters }, settings);
  }
}

export interface Sums {
  live: string;
  xx_sum: string;
  crc_sum: string;
  later: string | number;
  unclear: string;
}

export function fingerprintOf(sums: Sums): StoredFingerprint {
  return {
    rows: Number(sums.live),
    xx: BigInt(sums.xx_sum),
    crc: BigInt(sums.crc_sum),
    later: Number(sums.later),
    contradictory: Number(sums.unclear),
  };
}

export function storedRowsOf(
  rows: readonly { ruc: string; xx: number; crc: number; contradictory: number }[],
): StoredRow[] {
  return rows.map(({ ruc, xx, crc, contradictory }) => ({
    key: Number(ruc),
    xx: Number(xx),
    crc: Number(crc),
    contradictory: contradictory === 1,
  }));
}

export async function queryRows<Row>(
  clickhouse: ClickHouseClient,
  query: string,
  parameters: Record<string, unknown>,
  settings: ClickHouseSettings = {},
): Promise<Row[]> {
  const format = 'JSONEachRow';
  const result = await clickhouse.query({ query, query_params: parameters, format, clickhouse_settings: settings });
  return await result.json<Row>();
}
