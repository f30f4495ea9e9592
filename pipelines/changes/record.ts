import { readFileSync } from 'node:fs';
import avsc from 'avsc';
import type { RegisterName } from '../../schemas/registers.ts';
import { rucLength } from '../../schemas/ruc.ts';

/**
 * Walks Avro bytes without making objects or strings. It reads past the end of a damaged record without harm; finish()
 * tells. Numbers above 2^53 do not occur in our schemas.
 */
export class AvroCursor {
  bytes: Uint8Array;
  at: number;
  end: number;

  constructor() {
    this.bytes = new Uint8Array(0);
    this.at = 0;
    this.end = 0;
  }

  reset(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
  }

  /** A zigzag long of up to 53 bits. */
  long(): number {
    const { bytes } = this;
    let byte = bytes[this.at++]!;
    if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1);
    let low = byte & 0x7f;
    let scale = 128;
    // Beyond 31 bits shifts would wrap: multiply instead. Eight groups of seven bits are 2^56.
    for (let groups = 1; groups < 8; groups += 1) {
      byte = bytes[this.at++]!;
      low += (byte & 0x7f) * scale;
      if ((byte & 0x80) === 0) return low % 2 === 0 ? low / 2 : -(low + 1) / 2;
      scale *= 128;
    }
    throw new UndecodableRecord('a number of more than 53 bits');
  }

  /** 0 null, 1 the value. */
  isThere(): boolean {
    const branch = this.long();
    if (branch !== 0 && branch !== 1) throw new UndecodableRecord('a union branch that does not exist');
    return branch === 1;
  }

  /** Length of the string that begins here; the cursor then stands at its first byte. */
  stringLength(): number {
    const length = this.long();
    if (length < 0 || this.at + length > this.end) throw new UndecodableRecord('a string longer than its record');
    return length;
  }

  /** @throws UndecodableRecord where the record does not end here */
  finish(): void {
    if (this.at !== this.end) throw new UndecodableRecord('not as long as its schema says');
  }
}

export type Op = 'r' | 'c' | 'u' | 'd';
/** Cells by column name, exactly as the register writes them. */
export type Row = Readonly<Record<string, string>>;

/** One row-level difference between two editions (schemas/avro). */
export interface Change {
  edition: number;
  op: Op;
  /** Position in the change file, from 0. */
  seq: number;
  ruc: string;
  before: Row | null;
  after: Row | null;
  /** Line of the publication, from 1; null for a row that disappeared. */
  line: number | null;
  detectedAt: Date;
  corrects: number | null;
}

/** A record that our own code wrote and cannot read: a bug, so its partition stops. Never holds the record's bytes. */
export class UndecodableRecord extends Error {
  override name = 'UndecodableRecord';
  readonly code = 'undecodable_record';
  readonly retryable = false;
  readonly #reason: string;
  /** Offset in its partition; the loop fills it in where the decoder does not know it. */
  offset: string | undefined;

  constructor(reason: string, offset?: string) {
    super(`a record cannot be decoded: ${reason}`);
    this.#reason = reason;
    this.offset = offset;
  }

  /** The same of one record: a reason may be true of many. */
  at(offset: string): UndecodableRecord {
    return new UndecodableRecord(this.#reason, offset);
  }
}

/** Zero byte, then the schema's registry id as a big-endian int32, then the Avro record. */
export const headerBytes = 5;

export function schemaHeader(schemaId: number): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeInt32BE(schemaId, 1);
  return header;
}

/** @throws UndecodableRecord where there is no header */
export function schemaIdOf(value: Buffer): number {
  if (value.length < headerBytes || value[0] !== 0) throw new UndecodableRecord('no schema header');
  return value.readInt32BE(1);
}

export type SchemaName = RegisterName | 'edition';

/** The text of schemas/avro/<name>.avsc, as it is registered. */
export function schemaText(name: SchemaName): string {
  return readFileSync(new URL(`../../schemas/avro/${name}.avsc`, import.meta.url), 'utf8');
}

const types = new Map<SchemaName, avsc.Type>();

/** The avsc type of one of our schemas. Made on first use, since making it compiles code. */
export function avroType(name: SchemaName): avsc.Type {
  let type = types.get(name);
  if (type === undefined) {
    // Nulls are unwrapped: every union of ours is null or one type.
    type = avsc.Type.forSchema(JSON.parse(schemaText(name)), { wrapUnions: false });
    types.set(name, type);
  }
  return type;
}

interface ChangeRecord extends Omit<Change, 'detectedAt'> {
  detected_at: number;
}

/**
 * Decodes a value of a changes topic with the current schema. Whoever reads a topic checks the schema's id first
 * (runLoop does): bytes of another version would be misread, not refused.
 * @throws UndecodableRecord
 */
export function decodeChange(value: Buffer, register: RegisterName): Change {
  schemaIdOf(value);
  let record: ChangeRecord;
  try {
    record = avroType(register).fromBuffer(value.subarray(headerBytes)) as ChangeRecord;
  } catch {
    // avsc's own text quotes bytes of the record, which may be a person's name.
    throw new UndecodableRecord('not of this schema');
  }
  const { edition, op, seq, ruc, before, after, line, corrects } = record;
  return {
    edition,
    op,
    seq,
    ruc,
    before: before && { ...before },
    after: after && { ...after },
    line,
    detectedAt: new Date(record.detected_at),
    corrects,
  };
}

/** Encodes one change: for tests and single records; publishing takes the change file's bytes as they are. */
export function encodeChange(change: Change, schemaId: number, register: RegisterName): Buffer {
  const { detectedAt, ...rest } = change;
  const record = { ...rest, detected_at: detectedAt.getTime() };
  return Buffer.concat([schemaHeader(schemaId), avroType(register).toBuffer(record)]);
}

/**
 * Reads the first fields of an encoded change and nothing else: a first edition is millions of baselines, and nine of ten
 * taxpayers are no company, so most records need no decoding.
 */
export interface ChangePeek {
  edition: number;
  op: Op;
  /** Whether the key has a RUC's length and starts with 20. */
  company: boolean;
}

const ops: readonly Op[] = ['r', 'c', 'u', 'd'];
const digitTwo = 0x32;
const digitZero = 0x30;

/** @throws UndecodableRecord */
export function peekChange(value: Buffer): ChangePeek {
  const cursor = { value, at: headerBytes };
  const edition = readLong(cursor);
  const op = ops[readLong(cursor)];
  readLong(cursor); // seq
  const keyBytes = readLong(cursor);
  if (op === undefined || keyBytes < 1 || cursor.at + keyBytes > value.length) {
    throw new UndecodableRecord('not of this schema');
  }
  const startsWith20 = value[cursor.at] === digitTwo && value[cursor.at + 1] === digitZero;
  return { edition, op, company: keyBytes === rucLength && startsWith20 };
}

/** Avro's zig-zag variable-length long, as a safe integer. */
function readLong(cursor: { value: Buffer; at: number }): number {
  let result = 0;
  let scale = 1;
  for (let length = 0; length < 8; length += 1) {
    const byte = cursor.value[cursor.at];
    if (byte === undefined) break;
    cursor.at += 1;
    result += (byte & 0x7f) * scale;
    if (byte < 0x80) return result % 2 === 0 ? result / 2 : -(result + 1) / 2;
    scale *= 128;
  }
  throw new UndecodableRecord('not of this schema');
}
