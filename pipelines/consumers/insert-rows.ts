import { Readable } from 'node:stream';
import { bulkInsertSettings, type ClickHouseClient } from '../runtime/clickhouse.ts';
import { nameColumns, wordColumns } from './company-names.ts';
import type { RowBinaryWriter } from './row-binary.ts';
import { historyColumns, stateColumns } from './taxpayer-rows.ts';

/** ClickHouse did not take an insert. Whether it has the rows is not known; repeating is harmless. */
export class InsertFailed extends Error {
  override name = 'InsertFailed';
  readonly code = 'insert_failed';
  readonly retryable: boolean;

  constructor(table: string, cause: unknown) {
    // ClickHouse's own text may quote a row: only its code and the kind of failure are kept.
    const { code, type, name } = cause as { code?: unknown; type?: unknown; name?: unknown };
    super(`insert into ${table} failed: ${[code, type ?? name].filter(Boolean).join(' ')}`);
    // A server's answer about the statement or the table is a bug or a missing migration; everything else passes.
    this.retryable = !(typeof code === 'string' && bugCodes.has(code));
  }
}

// Unknown table, database, column, setting; syntax; type mismatch; cannot parse.
const bugCodes = new Set(['60', '81', '16', '47', '115', '62', '53', '27', '33', '6']);

const columnsOf = {
  history: historyColumns,
  state: stateColumns,
  names: nameColumns,
  words: wordColumns,
} as const;

export type RowKind = keyof typeof columnsOf;

/**
 * Puts rows of one kind into a table that has its columns: all of them, or it is not known which. `table` is a name
 * of ours: it becomes part of the statement.
 * @throws InsertFailed
 */
export async function insertRows(
  clickhouse: ClickHouseClient,
  kind: RowKind,
  table: string,
  rows: RowBinaryWriter,
): Promise<void> {
  if (rows.rows === 0) return;
  try {
    const { stream } = await clickhouse.exec({
      query: `INSERT INTO ${table} (${columnsOf[kind].join(', ')}) FORMAT RowBinary`,
      values: Readable.from([rows.written()], { objectMode: false }),
      clickhouse_settings: bulkInsertSettings,
    });
    // The answer must be read to its end, or the connection is never free again.
    for await (const _ of stream) void _;
  } catch (error) {
    throw new InsertFailed(table, error);
  }
}
