import { rucLength } from '../../schemas/ruc.ts';
import { headerBytes, type Op, UndecodableRecord } from '../stream/codec.ts';

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
