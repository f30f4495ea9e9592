import { readFileSync } from 'node:fs';
import avsc from 'avsc';
import type { RegisterName } from '../../schemas/registers.ts';
import { UndecodableRecord } from './errors.ts';
import { ChangeCursor, type Operation } from './record-bytes.ts';

/** Cells by column name. Each text is as the register publishes it. */
export type Row = Readonly<Record<string, string>>;

/** The difference of one row between two editions. Its schemas are in schemas/avro. */
export interface Change {
  edition: number;
  op: Operation;
  /** Position in the change file, from 0. */
  seq: number;
  ruc: string;
  before: Row | null;
  after: Row | null;
  /**
   * The row's line in the publication, counted from 1. Null if no line gave the row: the row disappeared, a correction
   * wrote the row, or its line is bad and a full edition repeats the row that the register had before.
   */
  line: number | null;
  detectedAt: Date;
  corrects: number | null;
}

/** Bytes before the Avro record in a Kafka value: a zero byte and the schema's registry id as a big-endian int32. */
export const headerBytes = 5;

export function schemaHeader(schemaId: number): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeInt32BE(schemaId, 1);
  return header;
}

/** @throws UndecodableRecord if the value has no header */
export function schemaIdOf(value: Buffer): number {
  if (value.length < headerBytes || value[0] !== 0) throw new UndecodableRecord('no schema header');
  return value.readInt32BE(1);
}

export type SchemaName = RegisterName | 'edition';

/** Returns the text of schemas/avro/<name>.avsc. The schema registry gets this text unchanged. */
export function schemaText(name: SchemaName): string {
  return readFileSync(new URL(`../../schemas/avro/${name}.avsc`, import.meta.url), 'utf8');
}

const types = new Map<SchemaName, avsc.Type>();

/** Returns the avsc type of one of our schemas. The type is made on first use, because avsc compiles code for it. */
export function avroType(name: SchemaName): avsc.Type {
  let type = types.get(name);
  if (type === undefined) {
    // All our unions are null or one type, so avsc does not need to wrap their values in objects.
    type = avsc.Type.forSchema(JSON.parse(schemaText(name)), { wrapUnions: false });
    types.set(name, type);
  }
  return type;
}

/** A change as its Avro record holds it. */
export interface ChangeRecord extends Omit<Change, 'detectedAt'> {
  detected_at: number;
}

/**
 * Decodes a value of a changes topic with the current schema. The caller must check the schema id first, as the
 * consumer loop does. Otherwise the bytes of another schema could give wrong values without an error.
 * @throws UndecodableRecord
 */
export function decodeChange(value: Buffer, register: RegisterName): Change {
  schemaIdOf(value);
  let record: ChangeRecord;
  try {
    record = avroType(register).fromBuffer(value.subarray(headerBytes)) as ChangeRecord;
  } catch {
    // The text of avsc's error quotes bytes of the record, which may be a person's name.
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

/** The first fields of a change, for readers that do not need the rows of most records. */
export interface ChangePeek {
  edition: number;
  op: Operation;
  /** Whether the key is a company's RUC. */
  company: boolean;
}

const peeking = new ChangeCursor();

/**
 * Reads only the first fields of a change, which is fast. They suffice for most changes, because only changes of
 * companies make events. Nine of ten taxpayers are not companies, and a first edition has millions of rows with op `r`.
 * @throws UndecodableRecord if the op does not exist or the key is empty
 */
export function peekChange(value: Buffer): ChangePeek {
  peeking.reset(value, headerBytes, value.length);
  peeking.readHead();
  if (peeking.keyEnd === peeking.keyAt) throw new UndecodableRecord('an empty key');
  return { edition: peeking.edition, op: peeking.operation, company: peeking.isOfCompany() };
}
