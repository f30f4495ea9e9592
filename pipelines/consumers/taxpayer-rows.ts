import { type Register, type RegisterName, registers } from '../../schemas/registers.ts';
import { stateKeyOf } from '../../schemas/ruc.ts';
import { UndecodableRecord } from '../changes/errors.ts';
import { headerBytes } from '../changes/record.ts';
import { baseline, ChangeCursor, differs, disappears } from '../changes/record-bytes.ts';
import type { ChangeBatch } from './batch.ts';
import { RowBinaryWriter } from './row-binary.ts';

/** The number of each operation in ClickHouse's Enum8, in the order of `operations` (r, c, u, d). */
export const opNumbers = [4, 1, 2, 3] as const;
/** Enough bytes for all cells of a row except its texts. */
const fixedBytes = 64;

export const stateColumns = ['ruc', 'register', 'version', 'is_deleted', 'row'] as const;
export const historyColumns = [
  'ruc',
  'register',
  'edition',
  'op',
  'before',
  'after',
  'detected_at',
  'corrects',
] as const;

/** Makes ClickHouse rows directly from Avro bytes. Objects for each row would be most of the cost of a first load. */
export class TaxpayerRows {
  /** `state` gets one row for each record. `history` gets no rows for baselines (records with op `r`). */
  readonly state = new RowBinaryWriter(1024 * 1024);
  readonly history = new RowBinaryWriter(64 * 1024);
  readonly #cursor = new ChangeCursor();
  #register: Register = registers.padron_reducido;
  #columns = 0;

  /**
   * Empties `state` and `history` and fills them from the batch. After an error their rows must not be used.
   * @throws UndecodableRecord with the record's offset
   */
  fill(register: RegisterName, messages: ChangeBatch['messages']): void {
    this.#register = registers[register];
    const today = this.#register.columns.length;
    this.state.clear();
    this.history.clear();
    for (const { offset, value, columns } of messages) {
      try {
        this.#columns = columns ?? today;
        this.#add(value);
      } catch (error) {
        if (error instanceof UndecodableRecord) error.offset = offset;
        throw error;
      }
    }
  }

  #add(value: Buffer): void {
    const { state, history } = this;
    const cursor = this.#cursor;
    cursor.reset(value, headerBytes, value.length);
    cursor.readHead();
    const { edition, op } = cursor;
    const key = stateKeyAt(cursor, this.#register.key);
    // A baseline is not history: a first edition or a re-baseline writes the row, but the row did not change that day.
    const kept = op !== baseline;
    history.reserve(fixedBytes);
    if (kept) this.#historyStart(key, edition, opNumbers[op]!);
    const hasBefore = this.#before(kept);
    state.reserve(fixedBytes);
    state.uint64(key);
    state.uint8(this.#register.code);
    state.uint64(edition);
    const hasAfter = this.#after(kept);
    if (hasAfter !== (op !== disappears) || hasBefore !== op >= differs) {
      throw new UndecodableRecord('op does not fit before and after');
    }
    cursor.readTail();
    cursor.finish();
    state.rows += 1;
    if (kept) this.#historyEnd(cursor.detectedAt, cursor.corrects);
  }

  #historyStart(key: number, edition: number, opNumber: number): void {
    const { history } = this;
    history.uint64(key);
    history.uint8(this.#register.code);
    history.uint64(edition);
    history.uint8(opNumber);
  }

  #before(kept: boolean): boolean {
    const { history } = this;
    const isThere = this.#cursor.isThere();
    if (!kept) return isThere;
    history.uint8(isThere ? 0 : 1);
    if (isThere) history.jsonArray(this.#cursor, this.#columns);
    return isThere;
  }

  #after(kept: boolean): boolean {
    const { state, history } = this;
    const isThere = this.#cursor.isThere();
    state.uint8(isThere ? 0 : 1);
    const textAt = state.position();
    if (isThere) state.jsonArray(this.#cursor, this.#columns);
    else state.emptyString();
    if (!kept) return isThere;
    history.reserve(fixedBytes + state.position() - textAt);
    history.uint8(isThere ? 0 : 1);
    if (isThere) history.copy(state, textAt);
    return isThere;
  }

  #historyEnd(detectedAt: number, corrects: number | null): void {
    const { history } = this;
    history.uint64(detectedAt);
    history.uint8(corrects === null ? 1 : 0);
    if (corrects !== null) history.uint64(corrects);
    history.rows += 1;
  }
}

function stateKeyAt(cursor: ChangeCursor, kind: Register['key']): number {
  const ruc = cursor.rucNumber();
  if (ruc >= 0) return ruc;
  if (kind === 'ruc') throw new UndecodableRecord('a RUC that is not eleven digits');
  if (cursor.keyAt === cursor.keyEnd) throw new UndecodableRecord('an empty key');
  return stateKeyOf(cursor.key());
}
