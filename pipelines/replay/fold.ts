import type { RegisterName } from '../../schemas/registers.ts';
import { UndecodableRecord } from '../changes/errors.ts';
import { headerBytes } from '../changes/record.ts';
import { CompanyNames } from '../consumers/company-names.ts';
import { insertInOrder, insertRows, wordTable } from '../consumers/materialize.ts';
import { TaxpayerRows } from '../consumers/taxpayer-rows.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import { ChangeRecords } from './change-records.ts';
import { type EditionFile, ReplayError } from './types.ts';

/** Number of records between two progress reports. The signal is checked at the same times. */
const recordsPerReport = 1 << 14;
/**
 * Most change files that one fold reads: eleven years of daily files. A fold holds one block of each file in memory:
 * 4,000 × 256 KB = 1 GB.
 */
const mostFiles = 4_000;

interface FoldOptions {
  maxFiles?: number;
  report?: (records: number) => void;
  signal?: AbortSignal;
}

/**
 * Calls `take` with the newest record of every key in these change files, in key order. Together these records are the
 * state. A key whose newest record is a deletion (op `disappears`) has no row. The first file must be of an edition
 * that wrote every row. Each file is sorted by key, so the merge holds only one block of each file in memory. `take`
 * may use a record until it returns or its promise settles.
 * @throws ReplayError `change_file_damaged`, or `too_many_files` when there are more than `maxFiles`
 * @throws the signal's reason when the signal aborts
 */
export async function fold(
  register: RegisterName,
  files: readonly EditionFile[],
  take: (record: ChangeRecords) => Promise<void> | undefined,
  { maxFiles = mostFiles, report, signal }: FoldOptions = {},
): Promise<void> {
  if (files.length > maxFiles) {
    const what = `${files.length} change files since the last edition that wrote every row; at most ${maxFiles}`;
    throw new ReplayError('too_many_files', what);
  }
  const heap = new RecordHeap();
  let records = 0;
  try {
    for (const file of files) await heap.add(await ChangeRecords.open(file, register));
    for (let top = heap.top(); top !== undefined; top = heap.top()) {
      const pending = take(top);
      if (pending !== undefined) await pending;
      const { order } = top;
      // Skip the older records of this key, because the newest record replaces them.
      do {
        const reading = heap.advance();
        if (reading !== undefined) await reading;
        records += 1;
      } while (heap.top()?.order === order);
      if (records % recordsPerReport === 0) {
        signal?.throwIfAborted();
        report?.(records);
      }
    }
    report?.(records);
  } finally {
    await heap.close();
  }
}

/** A heap of change files in the order of their current records: smallest key first, then the newest edition first. */
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

  /** Moves the top file to its next record. Returns a promise only when it must read the file's next block. */
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

/** Moves to the first record of the next block. Returns false at the end of the file. */
async function toNextBlock(file: ChangeRecords): Promise<boolean> {
  return (await file.nextBlock()) && file.step();
}

/** An insert takes whole blocks of the change file until it reaches one of these two limits. */
const maxInsertRows = 50_000;
const maxInsertBytes = 32 * 1024 * 1024;

interface Message {
  offset: string;
  value: Buffer;
  columns: number;
}

/**
 * Inserts an edition's change file into the tables of history, names and state, as the consumers insert records from
 * Kafka. A repeat changes nothing, because each row replaces an equal row. A file of an older release gives the rows
 * that it gave then, even if its columns differ from today's. Words of names go into the serving table `wordTable`. A
 * rebuild needs no second table of words, because no word is ever removed.
 * @param withNames false for editions before the last full edition, which writes every name again. An older parser may
 *   have read other names, and no later edition would delete the rows of those names.
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
  const records = await ChangeRecords.open(file, register);
  const rows = new TaxpayerRows();
  const companies = new CompanyNames();
  const into = { ...tables, words: wordTable };
  try {
    for await (const messages of batchesOf(records)) {
      signal.throwIfAborted();
      fill(rows, register, records, messages);
      if (withNames) companies.fill(register, messages);
      await insertInOrder(rows, companies, (kind, some) => insertRows(clickhouse, kind, into[kind], some));
      report(messages.length);
    }
  } finally {
    await records.close();
  }
}

/**
 * Yields batches of records in the form of Kafka message values: five bytes of header, which are not read here, and
 * then the record.
 */
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
