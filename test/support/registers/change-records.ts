import { avroType, type Change, schemaHeader } from '../../../pipelines/changes/record.ts';
import type { RegisterName } from '../../../schemas/registers.ts';

/** Encodes a change as a value of a changes topic. The producer does not encode: it sends the change file's bytes. */
export function encodeChange(change: Change, schemaId: number, register: RegisterName): Buffer {
  const { detectedAt, ...rest } = change;
  const record = { ...rest, detected_at: detectedAt.getTime() };
  return Buffer.concat([schemaHeader(schemaId), avroType(register).toBuffer(record)]);
}
