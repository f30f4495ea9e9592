import { rowFields } from '../../schemas/avro/columns.ts';
import { rucLength } from '../../schemas/ruc.ts';
import { AvroCursor, encodeLong, writeBranch, writeLong, writeNullableLong, writeString } from './avro.ts';
import { UndecodableRecord } from './errors.ts';

/**
 * Fields of a change, in the order of their bytes. Only ChangeCursor and ChangeEncoder (below) depend on this order.
 */
export const changeFields = ['edition', 'op', 'seq', 'ruc', 'before', 'after', 'line', 'detected_at', 'corrects'];

export const operations = ['r', 'c', 'u', 'd'] as const;
export type Operation = (typeof operations)[number];

/** Indexes of `r`, `u` and `d` in `operations`. A record's bytes hold these numbers. */
export const baseline = 0;
export const differs = 2;
export const disappears = 3;

const digitTwo = 0x32;
const digitZero = 0x30;

/** Reads one change in place: a caller calls `readHead`, reads the cells of both rows itself, and calls `readTail`. */
export class ChangeCursor extends AvroCursor {
  edition = 0;
  /** Index in `operations`. */
  op = 0;
  /** The key is bytes[keyAt, keyEnd): a RUC, or a supplier's id. */
  keyAt = 0;
  keyEnd = 0;
  detectedAt = 0;
  corrects: number | null = null;

  /** @throws UndecodableRecord */
  readHead(): void {
    this.edition = this.long();
    this.op = this.long();
    if (this.op < 0 || this.op > disappears) throw new UndecodableRecord('an op that does not exist');
    this.long(); // seq
    const length = this.stringLength();
    this.keyAt = this.at;
    this.at += length;
    this.keyEnd = this.at;
  }

  /** @throws UndecodableRecord */
  readTail(): void {
    if (this.isThere()) this.long(); // line
    this.detectedAt = this.long();
    this.corrects = this.isThere() ? this.long() : null;
  }

  get operation(): Operation {
    return operations[this.op]!;
  }

  key(): string {
    return this.bytes.toString('utf8', this.keyAt, this.keyEnd);
  }

  /** Returns the key as a number without making a string, or -1 if the key is not eleven digits. */
  rucNumber(): number {
    const { bytes, keyAt, keyEnd } = this;
    if (keyEnd - keyAt !== rucLength) return -1;
    let ruc = 0;
    for (let at = keyAt; at < keyEnd; at += 1) {
      const digit = bytes[at]! - digitZero;
      if (digit < 0 || digit > 9) return -1;
      ruc = ruc * 10 + digit;
    }
    return ruc;
  }

  /** Whether the key is a RUC that begins with 20, which means a company. */
  isOfCompany(): boolean {
    const { bytes, keyAt } = this;
    return this.keyEnd - keyAt === rucLength && bytes[keyAt] === digitTwo && bytes[keyAt + 1] === digitZero;
  }
}

/** The part of a writer's schema that a reader needs to find the end of a record. */
export interface ChangeLayout {
  /** Number of cells of a row, without the row's key. */
  columns: number;
  /** One function for each field that a later release added after `corrects`. The function skips this field. */
  skipAdded: readonly Skip[];
}

type Skip = (cursor: AvroCursor) => void;

/** @param schema the writer's schema as parsed JSON; the function throws if it is not a schema of changes */
export function layoutOf(schema: unknown): ChangeLayout {
  const { fields } = schema as { fields: { name: string; type: unknown }[] };
  const names = fields.slice(0, changeFields.length).map(({ name }) => name);
  if (names.join() !== changeFields.join()) throw new Error(`a changes schema begins with ${changeFields.join()}`);
  return {
    columns: rowFields(schema).length,
    skipAdded: fields.slice(changeFields.length).map(({ type }) => skipOf(type)),
  };
}

function skipOf(type: unknown): Skip {
  if (type === 'long' || type === 'int') return (cursor) => void cursor.long();
  if (type === 'string') return (cursor) => cursor.skipString();
  if (Array.isArray(type) && type.length === 2 && type[0] === 'null') {
    const skip = skipOf(type[1]);
    return (cursor) => {
      if (cursor.isThere()) skip(cursor);
    };
  }
  throw new Error(`a changes schema has a type that is not read: ${JSON.stringify(type)}`);
}

/** Goes through the records of a change file's blocks. Its fields describe one record until the next call of `next`. */
export class BlockCursor extends ChangeCursor {
  /** The record is bytes[start, at). These bytes are its Avro encoding, and the producer sends them as they are. */
  start = 0;
  /** Position of the first cell of `before`; -1 if `before` is null. `afterAt` is the same for `after`. */
  beforeAt = -1;
  afterAt = -1;
  readonly #layout: ChangeLayout;
  #left = 0;

  constructor(layout: ChangeLayout) {
    super();
    this.#layout = layout;
  }

  open({ bytes, count }: { bytes: Buffer; count: number }): void {
    this.reset(bytes, 0, bytes.length);
    this.#left = count;
    if (count === 0) this.finish();
  }

  /**
   * Reads the next record of the block. Returns false after the last record.
   * @throws UndecodableRecord if a record cannot be read, or if bytes are left after the block's last record
   */
  next(): boolean {
    if (this.#left === 0) return false;
    this.start = this.at;
    this.readHead();
    this.beforeAt = this.#skipRow();
    this.afterAt = this.#skipRow();
    this.readTail();
    for (const skip of this.#layout.skipAdded) skip(this);
    if (this.at > this.end) throw new UndecodableRecord('longer than its block');
    this.#left -= 1;
    if (this.#left === 0) this.finish();
    return true;
  }

  #skipRow(): number {
    if (!this.isThere()) return -1;
    const start = this.at;
    for (let column = this.#layout.columns; column > 0; column -= 1) this.skipString();
    return start;
  }
}

/** Where a row begins in memory. The row begins with its RUC, and ends with the pipe after its last cell. */
export interface RowAt {
  bytes: Uint8Array;
  start: number;
}

/** Writes all cells of a row except the RUC to position `at`, as Avro strings. Returns the position after the cells. */
type WriteCells = (to: Uint8Array, at: number, row: RowAt, isAfter: boolean) => number;

/** Encodes one edition's changes without avsc, which makes an object for each row and is five times slower. */
export class ChangeEncoder {
  readonly #edition: Buffer;
  readonly #detectedAt: Buffer;
  readonly #corrects: Buffer;
  readonly #writeCells: WriteCells;

  constructor(facts: { edition: number; detectedAt: number; corrects: number | null }, writeCells: WriteCells) {
    this.#edition = encodeLong(facts.edition);
    this.#detectedAt = encodeLong(facts.detectedAt);
    const corrects = Buffer.alloc(10);
    this.#corrects = corrects.subarray(0, writeNullableLong(corrects, 0, facts.corrects));
    this.#writeCells = writeCells;
  }

  /** Writes a change to `to` at position `start`. Returns the position after the change. */
  write(
    to: Uint8Array,
    start: number,
    op: Operation,
    seq: number,
    before: RowAt | null,
    after: RowAt | null,
    line: number | null,
  ): number {
    const row = (after ?? before)!;
    to.set(this.#edition, start);
    let at = writeLong(to, start + this.#edition.length, operations.indexOf(op));
    at = writeLong(to, at, seq);
    at = writeString(to, at, row.bytes, row.start, rucLength);
    at = writeBranch(to, at, before !== null);
    if (before !== null) at = this.#writeCells(to, at, before, false);
    at = writeBranch(to, at, after !== null);
    if (after !== null) at = this.#writeCells(to, at, after, true);
    at = writeNullableLong(to, at, line);
    to.set(this.#detectedAt, at);
    at += this.#detectedAt.length;
    to.set(this.#corrects, at);
    return at + this.#corrects.length;
  }
}
