import { readFileSync } from 'node:fs';
import avsc from 'avsc';
import type { RegisterName } from '../../schemas/registers.ts';

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
