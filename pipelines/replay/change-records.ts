import { rowFields } from '../../schemas/avro/columns.ts';
import { rucLength, stateKeyOf } from '../../schemas/ruc.ts';
import { type ChangeBlock, type ChangeFile, openChangeFile } from '../changes/change-file.ts';
import { CompareError } from '../changes/errors.ts';
import { AvroCursor, UndecodableRecord } from '../changes/record.ts';
import { type EditionFile, ReplayError } from './types.ts';

/** By the Avro enum's symbols r, c, u, d. */
export const baseline = 0;
export const disappears = 3;

/**
 * Walks the records of one change file in their order, without making objects: `step` within a block, `nextBlock` between
 * blocks. What it found of a record stands in its fields until the next step.
 */
export class ChangeRecords {
  readonly edition: number;
  /** Columns of a row, as this file's own schema has them. */
  readonly columns: readonly string[];
  op = 0;
  /** The key under which the row stands in ClickHouse. */
  stateKey = 0;
  /** What the file is sorted by: a RUC's number, or the bytes of a supplier's id as a string of as many characters. */
  order: number | string = -1;
  /** Where the cells of the row begin in the block; -1: null. */
  beforeAt = -1;
  afterAt = -1;
  detectedAt = 0;
  corrects: number | null = null;
  /** Bytes of the record in the block. */
  recordAt = 0;
  endAt = 0;
  records = 0;
  readonly #file: ChangeFile;
  readonly #blocks: AsyncGenerator<ChangeBlock>;
  readonly #cursor = new AvroCursor();
  readonly #cells = new AvroCursor();
  readonly #text: boolean;
  #left = 0;

  private constructor(file: ChangeFile, columns: readonly string[], text: boolean) {
    this.#file = file;
    this.#blocks = file.blocks();
    this.#text = text;
    this.columns = columns;
    this.edition = file.header.edition;
  }

  /** `text`: keys are ordered as text. @throws ReplayError `change_file_damaged` */
  static async open({ path, edition }: EditionFile, text: boolean): Promise<ChangeRecords> {
    const file = await damagedAs(edition, () => openChangeFile(path));
    try {
      const { metadata } = file.header;
      if (file.header.edition !== edition) throw damaged(edition, 'says that it is of another edition');
      const columns = rowFields(JSON.parse(metadata['avro.schema'] ?? '')).map(({ name }) => name);
      return new ChangeRecords(file, columns, text);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  get block(): Uint8Array {
    return this.#cursor.bytes;
  }

  /** A cursor that stands at the cells of the record's `before` or `after`; the same one each time. */
  cellsAt(position: number): AvroCursor {
    this.#cells.reset(this.#cursor.bytes, position, this.endAt);
    return this.#cells;
  }

  /** False: the file has ended. */
  async nextBlock(): Promise<boolean> {
    for (;;) {
      const { done, value } = await damagedAs(this.edition, () => this.#blocks.next());
      if (done) return false;
      if (value.count === 0) continue;
      this.#cursor.reset(value.bytes, 0, value.bytes.length);
      this.#left = value.count;
      this.endAt = 0;
      return true;
    }
  }

  /** Reads the next record of the block; false: the block has ended. @throws ReplayError `change_file_damaged` */
  step(): boolean {
    if (this.#left === 0) return false;
    try {
      this.#read();
    } catch (error) {
      if (error instanceof UndecodableRecord) throw damaged(this.edition, 'holds a record that is not of its schema');
      throw error;
    }
    this.#left -= 1;
    this.records += 1;
    return true;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  #read(): void {
    const cursor = this.#cursor;
    cursor.at = this.endAt;
    this.recordAt = cursor.at;
    if (cursor.long() !== this.edition) throw damaged(this.edition, 'holds a record of another edition');
    this.op = cursor.long();
    if (this.op < 0 || this.op > disappears) throw damaged(this.edition, 'holds a record without an operation');
    cursor.long();
    this.#readKey(cursor.stringLength());
    this.beforeAt = this.#skipRow();
    this.afterAt = this.#skipRow();
    if (cursor.isThere()) cursor.long();
    this.detectedAt = cursor.long();
    this.corrects = cursor.isThere() ? cursor.long() : null;
    this.endAt = cursor.at;
    if (cursor.at > cursor.end) throw damaged(this.edition, 'has a record longer than its block');
    if (this.#left === 1 && cursor.at !== cursor.end) throw damaged(this.edition, 'has a block of another length');
  }

  #readKey(length: number): void {
    const cursor = this.#cursor;
    const previous = this.order;
    const end = cursor.at + length;
    const ruc = length === rucLength ? digitsAt(cursor.bytes, cursor.at) : -1;
    if (this.#text) {
      const bytes = Buffer.from(cursor.bytes.buffer, cursor.bytes.byteOffset + cursor.at, length);
      this.order = bytes.toString('latin1');
      this.stateKey = ruc >= 0 ? ruc : stateKeyOf(bytes.toString('utf8'));
    } else {
      if (ruc < 0) throw damaged(this.edition, 'holds a key that is no RUC');
      this.order = ruc;
      this.stateKey = ruc;
    }
    cursor.at = end;
    // A repeated key as well: a fold would take either of two rows.
    if (previous !== -1 && !(previous < this.order)) throw damaged(this.edition, 'is not in the order of its keys');
  }

  #skipRow(): number {
    const cursor = this.#cursor;
    if (!cursor.isThere()) return -1;
    const start = cursor.at;
    for (let column = this.columns.length; column > 0; column -= 1) {
      const length = cursor.stringLength();
      cursor.at += length;
    }
    return start;
  }
}

/** Eleven digits as a number, or -1. */
function digitsAt(bytes: Uint8Array, at: number): number {
  let number = 0;
  for (let digit = 0; digit < rucLength; digit += 1) {
    const value = bytes[at + digit]! - 0x30;
    if (value < 0 || value > 9) return -1;
    number = number * 10 + value;
  }
  return number;
}

function damaged(edition: number, what: string): ReplayError {
  return new ReplayError('change_file_damaged', `the change file of edition ${edition} ${what}`);
}

async function damagedAs<Result>(edition: number, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CompareError) throw damaged(edition, error.message);
    throw error;
  }
}
