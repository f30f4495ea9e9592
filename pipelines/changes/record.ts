import { readFileSync } from 'node:fs';
import avsc from 'avsc';
import type { RegisterName } from '../../schemas/registers.ts';
import { UndecodableRecord } from './errors.ts';
import { ChangeCursor, type Operation } from './record-bytes.ts';

/** Cells by column name, with the register's own texts. */
export type Row = Readonly<Record<string, string>>;

/** One row's difference between two editions (schemas/avro). */
export interface Change {
  edition: number;
  op: Operation;
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

/** A Kafka value is a zero byte, the schema's registry id as a big-endian int32, and the Avro record. */
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

/** The text of schemas/avro/<name>.avsc, which is registered as it is. */
export function schemaText(name: SchemaName): string {
  return readFileSync(new URL(`../../schemas/avro/${name}.avsc`, import.meta.url), 'utf8');
}

const types = new Map<SchemaName, avsc.Type>();

/** The avsc type of one of our schemas. It is made on first use, since avsc compiles code for it. */
export function avroType(name: SchemaName): avsc.Type {
  let type = types.get(name);
  if (type === undefined) {
    // Values of unions are not wrapped: all our unions are null or one type.
    type = avsc.Type.forSchema(JSON.parse(schemaText(name)), { wrapUnions: false });
    types.set(name, type);
  }
  return type;
}

interface ChangeRecord extends Omit<Change, 'detectedAt'> {
  detected_at: number;
}

/**
 * Decodes a value of a changes topic with the current schema. Callers check the schema id first, as the consumer loop
 * does: bytes of another schema could be misread instead of refused.
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

/** Encodes one change, for tests. The producer takes the bytes of the change file as they are. */
export function encodeChange(change: Change, schemaId: number, register: RegisterName): Buffer {
  const { detectedAt, ...rest } = change;
  const record = { ...rest, detected_at: detectedAt.getTime() };
  return Buffer.concat([schemaHeader(schemaId), avroType(register).toBuffer(record)]);
}

/** The first fields of a change, for readers that need no row of most records. */
export interface ChangePeek {
  edition: number;
  op: Operation;
  /** Whether the key is a company's RUC. */
  company: boolean;
}

const peeking = new ChangeCursor();

/**
 * Reads the first fields and decodes nothing else: a first edition is millions of baselines, and nine of ten taxpayers
 * are no company. @throws UndecodableRecord
 */
export function peekChange(value: Buffer): ChangePeek {
  peeking.reset(value, headerBytes, value.length);
  peeking.readHead();
  if (peeking.keyEnd === peeking.keyAt) throw new UndecodableRecord('an empty key');
  return { edition: peeking.edition, op: peeking.operation, company: peeking.isOfCompany() };
}
