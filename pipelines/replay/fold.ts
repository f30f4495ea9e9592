import { type RegisterName, registers } from '../../schemas/registers.ts';
import { UndecodableRecord } from '../changes/errors.ts';
import { headerBytes } from '../changes/record.ts';
import { CompanyNames } from '../consumers/company-names.ts';
import { insertRows } from '../consumers/materialize.ts';
import { TaxpayerRows } from '../consumers/taxpayer-rows.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import { ChangeRecords } from './change-records.ts';
import { type EditionFile, ReplayError } from './types.ts';

/** How many records pass between two reports and checks of the signal. */
const recordsPerReport = 1 << 14;

/**
 * Streams the state that these change files make, in key order: the newest record of every key, including deletions
 * (`op` is `disappears`). The first file must have written every row. Each file is sorted, so the merge holds only one
 * block of each. A record is valid until `take` returns or its promise settles.
 * @throws ReplayError `change_file_damaged`, `too_many_files`; the signal's reason
 */
export async function fold(
  register: RegisterName,
  files: readonly EditionFile[],
  take: (record: ChangeRecords) => Promise<void> | undefined,
  options: { maxFiles: number; report?: (records: number) => void; signal?: AbortSignal },
): Promise<void> {
  if (files.length > options.maxFiles) {
    const what = `${files.length} change files since the last edition that wrote every row; at most ${options.maxFiles}`;
    throw new ReplayError('too_many_files', what);
  }
  const heap = new RecordHeap();
  let records = 0;
  try {
    for (const file of files) await heap.add(await ChangeRecords.open(file, registers[register].key === 'supplier'));
    for (let top = heap.top(); top !== undefined; top = heap.top()) {
      const pending = take(top);
      if (pending !== undefined) await pending;
      const { order } = top;
      // Skip older records of the same key: the newest has replaced them.
      do {
        const reading = heap.advance();
        if (reading !== undefined) await reading;
        records += 1;
      } while (heap.top()?.order === order);
      if (records % recordsPerReport === 0) {
        options.signal?.throwIfAborted();
        options.report?.(records);
      }
    }
    options.report?.(records);
  } finally {
    await heap.close();
  }
}

/** A heap of files by their current record: the smallest key first, and the newest edition first among equal keys. */
class RecordHeap {
  readonly #files: ChangeRecords[] = [];

  async add(file: ChangeRecords): Promise<void> {
    this.#files.push(file);
    if (await toNextBlock(file)) this.#raise(this.#files.length - 1);
    else await this.#drop(this.#files.length - 1);
  }

  top(): ChangeRecords | undefined {
    return this.#files[0];
  }

  /** Moves the top file to its next record. Returns a promise only when the file must be read for it. */
  advance(): Promise<void> | undefined {
    if (!this.#files[0]!.step()) return this.#advanceBlock();
    this.#lower(0);
    return undefined;
  }

  async close(): Promise<void> {
    for (const file of this.#files.splice(0)) await file.close();
  }

  async #advanceBlock(): Promise<void> {
    if (!(await toNextBlock(this.#files[0]!))) await this.#drop(0);
    if (this.#files.length > 0) this.#lower(0);
  }

  async #drop(at: number): Promise<void> {
    const last = this.#files.pop()!;
    const gone = this.#files[at] ?? last;
    if (at < this.#files.length) this.#files[at] = last;
    await gone.close();
  }

  #raise(from: number): void {
    const files = this.#files;
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!isBefore(files[at]!, files[parent]!)) return;
      [files[at], files[parent]] = [files[parent]!, files[at]!];
      at = parent;
    }
  }

  #lower(from: number): void {
    const files = this.#files;
    const { length } = files;
    for (let at = from; ; ) {
      let least = 2 * at + 1;
      if (least >= length) return;
      if (least + 1 < length && isBefore(files[least + 1]!, files[least]!)) least += 1;
      if (!isBefore(files[least]!, files[at]!)) return;
      const moved = files[at]!;
      files[at] = files[least]!;
      files[least] = moved;
      at = least;
    }
  }
}

function isBefore(one: ChangeRecords, other: ChangeRecords): boolean {
  return one.order < other.order || (one.order === other.order && one.edition > other.edition);
}

/** Moves to the first record of the next block. False at the end of the file. */
async function toNextBlock(file: ChangeRecords): Promise<boolean> {
  return (await file.nextBlock()) && file.step();
}

/** An insert is as large as what the consumers fetch at once. */
const maxInsertRows = 50_000;
const maxInsertBytes = 32 * 1024 * 1024;
/** Words are only ever added, so a rebuild needs no second table of them. */
export const wordTable = 'company_word';

interface Message {
  offset: string;
  value: Buffer;
  columns: number;
}

/**
 * Inserts an edition's change file into the tables of history, names and state, as the consumers do with the same
 * records from Kafka: history first, rows straight from Avro bytes. Repeatable, because the same rows replace
 * themselves. An edition of a release with other columns gets the rows that it got then. Pass `withNames` as false for
 * editions before the last full one: another parser read their names, and nothing would ever mark those as deleted.
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

/** The records as values of the topic: a five-byte header that is not read here, then the record as in the file. */
async function* batchesOf(records: ChangeRecords): AsyncGenerator<Message[]> {
  const header = Buffer.alloc(headerBytes);
  let messages: Message[] = [];
  let bytes = 0;
  while (await records.nextBlock()) {
    const block = Buffer.concat([header, records.bytes]);
    while (records.step()) {
      const value = block.subarray(records.start, records.at + headerBytes);
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
