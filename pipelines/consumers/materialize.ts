import { Readable } from 'node:stream';
import { Histogram, type Registry } from 'prom-client';
import { bulkInsertSettings, type ClickHouseClient } from '../runtime/clickhouse.ts';
import type { BatchHandler } from './batch.ts';
import { CompanyNames, nameColumns, wordColumns } from './company-names.ts';
import type { RowBinaryWriter } from './row-binary.ts';
import { historyColumns, stateColumns, TaxpayerRows } from './taxpayer-rows.ts';

interface BatchRows {
  taxpayers: TaxpayerRows;
  companies: CompanyNames;
}

/**
 * Keeps history, names and state: batch → insert history → insert names → insert state → (the loop) commit. Read README.md
 * of this folder for what a death at each of these steps leaves.
 */
export function makeMaterializeHandler(clickhouse: ClickHouseClient, metrics: Registry): BatchHandler {
  const seconds = new Histogram({
    name: 'padron_materialize_insert_seconds',
    help: 'Time of one insert into ClickHouse',
    labelNames: ['table'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10],
    registers: [metrics],
  });
  const free: BatchRows[] = [];
  return async (batch) => {
    // Batches of several partitions run at once: each has buffers of its own, used again by the next of any register, so
    // that there are never more than run at once.
    const rows = free.pop() ?? { taxpayers: new TaxpayerRows(), companies: new CompanyNames() };
    const { taxpayers, companies } = rows;
    try {
      taxpayers.fill(batch.register, batch.messages);
      companies.fill(batch.register, batch.messages);
      // Dying before the first insert: nothing has happened, the batch comes again.
      await insert('history', 'register_change', taxpayers.history);
      // Dying here: history has rows whose state is not there yet. Nobody reads them before the edition is materialised,
      // and the batch comes again: the same keys replace themselves.
      await insert('words', 'company_word', companies.words);
      companies.wordsAreStored();
      // Dying here: words that no name has yet lead nowhere.
      await insert('names', 'ranked_name', companies.names);
      // Dying here: names that the state does not confirm are not shown.
      await insert('state', 'taxpayer', taxpayers.state);
      // Dying here, before the commit: all come again with the same version, and readers take one of each version.
    } finally {
      free.push(rows);
    }
  };

  async function insert(kind: RowKind, table: string, rows: RowBinaryWriter): Promise<void> {
    if (rows.rows === 0) return;
    const end = seconds.startTimer({ table });
    try {
      await insertRows(clickhouse, kind, table, rows);
    } finally {
      end();
    }
  }
}

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

type RowKind = keyof typeof columnsOf;

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
