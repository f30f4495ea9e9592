import { type RegisterName, registers } from '../../schemas/registers.ts';
import { headerBytes, UndecodableRecord } from '../changes/record.ts';
import { CompanyNames } from '../consumers/company-names.ts';
import { insertRows } from '../consumers/materialize.ts';
import { TaxpayerRows } from '../consumers/taxpayer-rows.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import { ChangeRecords } from './change-records.ts';
import { ReplayError } from './errors.ts';
import type { EditionFile } from './types.ts';

/** Of one insert: as large as what the consumers fetch at once. */
const maxInsertRows = 50_000;
const maxInsertBytes = 32 * 1024 * 1024;
/** Words only come and never go, so there is no second table of them. */
export const wordTable = 'company_word';

interface Message {
  offset: string;
  value: Buffer;
  columns: number;
}

/**
 * Inserts an edition's change file into tables of history, names and state, the way the consumers do with the same records
 * from Kafka: history first, rows straight from Avro bytes. Repeatable: the same rows replace themselves.
 * An edition of a release with other columns gets the rows that it got then. `withNames` is false before the last edition that
 * wrote every row: names that another parser read would never be marked.
 * @throws ReplayError `change_file_damaged`; InsertFailed
 */
export async function loadEdition(
  clickhouse: ClickHouseClient,
  tables: { state: string; history: string; names: string },
  register: RegisterName,
  file: EditionFile,
  withNames: boolean,
  report: (rows: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const records = await ChangeRecords.open(file, registers[register].key === 'supplier');
  const rows = new TaxpayerRows();
  const companies = new CompanyNames();
  try {
    for await (const messages of batchesOf(records)) {
      signal.throwIfAborted();
      fill(rows, register, records, messages);
      if (withNames) companies.fill(register, messages);
      await insertRows(clickhouse, 'history', tables.history, rows.history);
      await insertRows(clickhouse, 'words', wordTable, companies.words);
      companies.wordsAreStored();
      await insertRows(clickhouse, 'names', tables.names, companies.names);
      await insertRows(clickhouse, 'state', tables.state, rows.state);
      report(messages.length);
    }
  } finally {
    await records.close();
  }
}

/** The records as values of the topic: five bytes that nobody reads here, then the record as the file has it. */
async function* batchesOf(records: ChangeRecords): AsyncGenerator<Message[]> {
  const header = Buffer.alloc(headerBytes);
  let messages: Message[] = [];
  let bytes = 0;
  while (await records.nextBlock()) {
    const block = Buffer.concat([header, records.block]);
    while (records.step()) {
      const value = block.subarray(records.recordAt, records.endAt + headerBytes);
      messages.push({ offset: String(records.records), value, columns: records.columns.length });
    }
    bytes += block.length;
    if (messages.length < maxInsertRows && bytes < maxInsertBytes) continue;
    yield messages;
    messages = [];
    bytes = 0;
  }
  if (messages.length > 0) yield messages;
}

function fill(
  rows: TaxpayerRows,
  register: RegisterName,
  { edition }: ChangeRecords,
  messages: readonly Message[],
): void {
  try {
    rows.fill(register, messages);
  } catch (error) {
    if (!(error instanceof UndecodableRecord)) throw error;
    throw new ReplayError('change_file_damaged', `edition ${edition}, record ${error.offset}: ${error.message}`);
  }
}
