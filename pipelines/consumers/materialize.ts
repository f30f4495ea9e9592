import { Readable } from 'node:stream';
import { Histogram, type Registry } from 'prom-client';
import { bulkInsertSettings, type ClickHouseClient } from '../../deploy/runtime/clickhouse.ts';
import type { BatchHandler } from './loop.ts';
import type { RowBinaryWriter } from './row-binary.ts';
import { historyColumns, stateColumns, TaxpayerRows } from './taxpayer-rows.ts';

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

interface TableInsert {
  table: 'register_change' | 'taxpayer';
  columns: readonly string[];
}
const historyInsert: TableInsert = { table: 'register_change', columns: historyColumns };
const stateInsert: TableInsert = { table: 'taxpayer', columns: stateColumns };

/**
 * Keeps history and state: batch → insert history → insert state → (the loop) commit. Read README.md of this folder for
 * what a death at each of these steps leaves.
 */
export function makeMaterializeHandler(clickhouse: ClickHouseClient, metrics: Registry): BatchHandler {
  const seconds = new Histogram({
    name: 'padron_materialize_insert_seconds',
    help: 'Time of one insert into ClickHouse',
    labelNames: ['table'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10],
    registers: [metrics],
  });
  const free: TaxpayerRows[] = [];
  return async (batch) => {
    // Batches of several partitions run at once: each has buffers of its own, used again by the next of any register, so
    // that there are never more than run at once.
    const rows = free.pop() ?? new TaxpayerRows();
    try {
      rows.fill(batch.register, batch.messages);
      // Dying before the first insert: nothing has happened, the batch comes again.
      await insert(historyInsert, rows.history);
      // Dying here: history has rows whose state is not there yet. Nobody reads them before the edition is materialised,
      // and the batch comes again: the same keys replace themselves.
      await insert(stateInsert, rows.state);
      // Dying here, before the commit: both come again with the same version, and readers take one of each version.
    } finally {
      free.push(rows);
    }
  };

  async function insert({ table, columns }: TableInsert, rows: RowBinaryWriter): Promise<void> {
    if (rows.rows === 0) return;
    const end = seconds.startTimer({ table });
    try {
      const { stream } = await clickhouse.exec({
        query: `INSERT INTO ${table} (${columns.join(', ')}) FORMAT RowBinary`,
        values: Readable.from([rows.written()], { objectMode: false }),
        clickhouse_settings: bulkInsertSettings,
      });
      // The answer must be read to its end, or the connection is never free again.
      for await (const _ of stream) void _;
    } catch (error) {
      throw new InsertFailed(table, error);
    } finally {
      end();
    }
  }
}
