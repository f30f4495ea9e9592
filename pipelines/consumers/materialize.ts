import { Histogram, type Registry } from 'prom-client';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import type { BatchHandler } from './batch.ts';
import { CompanyNames } from './company-names.ts';
import { insertRows, type RowKind } from './insert-rows.ts';
import type { RowBinaryWriter } from './row-binary.ts';
import { TaxpayerRows } from './taxpayer-rows.ts';

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
