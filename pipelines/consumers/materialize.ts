import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { Histogram, type Registry } from 'prom-client';
import { bulkInsertSettings, type ClickHouseClient } from '../runtime/clickhouse.ts';
import type { BatchHandler } from './batch.ts';
import { CompanyNames, nameColumns, wordColumns } from './company-names.ts';
import type { RowBinaryWriter } from './row-binary.ts';
import { historyColumns, stateColumns, TaxpayerRows } from './taxpayer-rows.ts';

export const servingTables = { state: 'taxpayer', history: 'register_change', names: 'ranked_name' } as const;
export const wordTable = 'company_word';

/**
 * Makes the handler that writes a batch into the tables of history, words, names and state, in this order. The loop
 * commits the batch afterwards. `insertInOrder` says what is left if the process dies between two inserts.
 */
export function makeMaterializeHandler(clickhouse: ClickHouseClient, metrics: Registry): BatchHandler {
  const seconds = new Histogram({
    name: 'padron_materialize_insert_seconds',
    help: 'Time of one insert into ClickHouse',
    labelNames: ['table'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10],
    registers: [metrics],
  });
  const free: { taxpayers: TaxpayerRows; companies: CompanyNames }[] = [];
  const tables = { ...servingTables, words: wordTable };
  let turn = Promise.resolve();
  return async (batch) => {
    // The batches of a fetch begin together. Each makes its rows in another round of the event loop, so that heartbeats
    // and answers of ClickHouse get their turn between two of them.
    turn = turn.then(() => setImmediate());
    await turn;
    // Batches of several partitions run at once, and each batch borrows a set of buffers. So there are never more sets
    // than batches that run at once.
    const rows = free.pop() ?? { taxpayers: new TaxpayerRows(), companies: new CompanyNames() };
    const { taxpayers, companies } = rows;
    try {
      taxpayers.fill(batch.register, batch.messages);
      companies.fill(batch.register, batch.messages);
      await insertInOrder(taxpayers, companies, async (kind, some) => {
        if (some.rows === 0) return;
        const end = seconds.startTimer({ table: tables[kind] });
        await insertRows(clickhouse, kind, tables[kind], some).finally(end);
      });
    } finally {
      free.push(rows);
    }
  };
}

/** Inserts the rows of a batch in the order that does no harm if the process dies between two inserts. */
export async function insertInOrder(
  { history, state }: TaxpayerRows,
  companies: CompanyNames,
  insert: (kind: RowKind, rows: RowBinaryWriter) => Promise<void>,
): Promise<void> {
  // If the process dies before the first insert, nothing has happened, and the batch is read again.
  await insert('history', history);
  // If the process dies here, history has rows without their state. Nobody reads these rows before the edition is
  // materialised. The repeated batch replaces them, because its rows have the same keys.
  await insert('words', companies.words);
  companies.wordsAreStored();
  // If it dies here, there are words without a name. A search for them finds nothing.
  await insert('names', companies.names);
  // If the process dies here, there are names without their state. A search compares each name with the company's row
  // in the state, so it does not show such names.
  await insert('state', state);
  // If the process dies here, before the loop commits the batch, the repeated batch inserts these rows again. Readers
  // take only one of several rows with the same key and version.
}

/** An insert failed or got no answer. ClickHouse may have stored the rows all the same; a repeat does no harm. */
export class InsertFailed extends Error {
  override name = 'InsertFailed';
  readonly code = 'insert_failed';
  readonly retryable: boolean;

  constructor(table: string, cause: unknown) {
    // ClickHouse's message may quote a row, so only its code and the kind of failure are kept.
    const { code, type, name } = cause as { code?: unknown; type?: unknown; name?: unknown };
    super(`insert into ${table} failed: ${[code, type ?? name].filter(Boolean).join(' ')}`);
    // An error about the statement or the table is a bug or a missing migration. Any other error may pass by itself.
    this.retryable = !(typeof code === 'string' && bugCodes.has(code));
  }
}

// Codes of ClickHouse errors that are bugs of ours: unknown table, database, column or setting; syntax error; type
// mismatch; input that cannot be parsed.
const bugCodes = new Set(['60', '81', '16', '47', '115', '62', '53', '27', '33', '6']);

const columnsOf = {
  history: historyColumns,
  state: stateColumns,
  names: nameColumns,
  words: wordColumns,
} as const;

type RowKind = keyof typeof columnsOf;

/**
 * Inserts rows of one kind into a table that has the columns of this kind.
 * @param table a name from our own code, because it becomes part of the SQL statement
 * @throws InsertFailed; it is then unknown whether the rows were stored
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
    // The answer must be read to its end, or its connection never becomes free again.
    for await (const _ of stream) void _;
  } catch (error) {
    throw new InsertFailed(table, error);
  }
}
