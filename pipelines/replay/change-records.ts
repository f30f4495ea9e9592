import { rowFields } from '../../schemas/avro/columns.ts';
import { type Register, type RegisterName, registers } from '../../schemas/registers.ts';
import { stateKeyOf } from '../../schemas/ruc.ts';
import { AvroCursor } from '../changes/avro.ts';
import { type ChangeBlock, type ChangeFile, openChangeFile } from '../changes/change-file.ts';
import { CompareError, UndecodableRecord } from '../changes/errors.ts';
import { BlockCursor, layoutOf } from '../changes/record-bytes.ts';
import { type EditionFile, ReplayError } from './types.ts';

/**
 * Reads the records of one change file in order, without an object per record. `nextBlock` moves to the next block, and
 * `step` moves to the next record of that block. The fields hold the record's values until the next `step`.
 */
export class ChangeRecords extends BlockCursor {
  /** The columns of a row in this file's own schema. */
  readonly columns: readonly string[];
  /** The record's key as ClickHouse stores it: the number that `stateKeyOf` (schemas/ruc.ts) gives. */
  stateKey = 0;
  /** The key by which the file is sorted: a RUC as a number, or a supplier's id as text with one character per byte. */
  order: number | string = -1;
  records = 0;
  readonly #edition: number;
  readonly #file: ChangeFile;
  readonly #blocks: AsyncGenerator<ChangeBlock>;
  readonly #cells = new AvroCursor();
  readonly #key: Register['key'];

  private constructor(file: ChangeFile, schema: unknown, register: RegisterName) {
    super(layoutOf(schema));
    this.#file = file;
    this.#blocks = file.blocks();
    this.#key = registers[register].key;
    this.columns = rowFields(schema).map(({ name }) => name);
    this.#edition = file.header.edition;
    this.edition = this.#edition;
  }

  /** @throws ReplayError `change_file_damaged` when the file cannot be read or belongs to another edition */
  static async open({ path, edition }: EditionFile, register: RegisterName): Promise<ChangeRecords> {
    const file = await damagedAs(edition, () => openChangeFile(path));
    try {
      if (file.header.edition !== edition) throw damaged(edition, 'names another edition');
      return new ChangeRecords(file, file.schema, register);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /**
   * Returns a cursor at the row that begins at `position` (`beforeAt` or `afterAt`). All calls move and return the same
   * cursor.
   */
  cellsAt(position: number): AvroCursor {
    this.#cells.reset(this.bytes, position, this.at);
    return this.#cells;
  }

  /** Moves to the next block that has records. Returns false at the end of the file. */
  async nextBlock(): Promise<boolean> {
    for (;;) {
      const { done, value } = await damagedAs(this.#edition, () => this.#blocks.next());
      if (done) return false;
      if (value.count === 0) continue;
      this.open(value);
      return true;
    }
  }

  /** Reads the next record of the block. Returns false at the block's end. @throws ReplayError `change_file_damaged` */
  step(): boolean {
    try {
      if (!this.next()) return false;
    } catch (error) {
      if (error instanceof UndecodableRecord) throw damaged(this.#edition, 'holds a record that is not of its schema');
      throw error;
    }
    if (this.edition !== this.#edition) throw damaged(this.#edition, 'holds a record of another edition');
    this.#readKey();
    this.records += 1;
    return true;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  #readKey(): void {
    const previous = this.order;
    const ruc = this.rucNumber();
    if (this.#key === 'supplier') {
      this.order = this.bytes.toString('latin1', this.keyAt, this.keyEnd);
      this.stateKey = ruc >= 0 ? ruc : stateKeyOf(this.key());
    } else {
      if (ruc < 0) throw damaged(this.#edition, 'holds a key that is no RUC');
      this.order = ruc;
      this.stateKey = ruc;
    }
    // A key that occurs twice is refused too, because `fold` (fold.ts) could take either of its two rows.
    if (previous !== -1 && !(previous < this.order)) throw damaged(this.#edition, 'is not in the order of its keys');
  }
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
