import { createRequire } from 'node:module';
import { AvroCursor } from '../changes/avro.ts';

/** The part of kafkajs's decoder that is used here: bytes of an answer, and how far they have been read. */
interface Answer {
  buffer: Buffer;
  offset: number;
}

interface Batch {
  records: readonly unknown[];
}

type DecodeBatch = (answer: Answer) => Promise<Batch>;

/** A record as a handler gets it. The client makes some thirty objects for a record, and this class three. */
class FetchedRecord {
  readonly offset: string;
  readonly value: Buffer | null;
  readonly #bytes: Buffer;
  readonly #keyAt: number;
  readonly #keyEnd: number;

  constructor(offset: string, value: Buffer | null, bytes: Buffer, keyAt: number, keyEnd: number) {
    this.offset = offset;
    this.value = value;
    this.#bytes = bytes;
    this.#keyAt = keyAt;
    this.#keyEnd = keyEnd;
  }

  get key(): Buffer | null {
    return this.#keyEnd < this.#keyAt ? null : this.#bytes.subarray(this.#keyAt, this.#keyEnd);
  }

  get headers(): object {
    return noHeaders;
  }

  /** The client asks for it if a part of the topic was written by a transaction that was aborted. */
  get batchContext(): object {
    return noTransaction;
  }
}

const noHeaders = Object.freeze({});
const noTransaction = Object.freeze({ producerId: '-1', inTransaction: false });

// Positions in a record batch of version 2. Kafka's protocol guide has its layout.
const lengthAt = 8;
const afterLength = 12;
const attributesAt = 21;
const countAt = 57;
const recordsAt = 61;
/** The bits of `attributes` that name a compression (0 to 2), a transaction (4) and a control batch (5). */
const specialBits = 0x37;

/**
 * Reads a batch whose records have no headers and that is neither compressed nor of a transaction. All batches of an
 * edition are such. Returns null for any other batch, and for a batch that is cut off.
 */
function plainRecords({ buffer, offset: start }: Answer): FetchedRecord[] | null {
  if (buffer.length - start < recordsAt) return null;
  const end = start + afterLength + buffer.readInt32BE(start + lengthAt);
  if (end > buffer.length || (buffer.readInt16BE(start + attributesAt) & specialBits) !== 0) return null;
  const firstOffset = Number(buffer.readBigInt64BE(start));
  const count = buffer.readInt32BE(start + countAt);
  const records: FetchedRecord[] = [];
  const cursor = new AvroCursor();
  // Kafka's numbers have the form of Avro's.
  cursor.reset(buffer, start + recordsAt, end);
  for (let index = 0; index < count; index += 1) {
    const size = cursor.long();
    const recordEnd = cursor.at + size;
    cursor.at += 1; // attributes
    cursor.long(); // the difference to the batch's time
    const offset = String(firstOffset + cursor.long());
    const keyEnd = cursor.long() + cursor.at;
    const keyAt = cursor.at;
    cursor.at = Math.max(keyAt, keyEnd);
    const length = cursor.long();
    const value = length < 0 ? null : buffer.subarray(cursor.at, cursor.at + length);
    cursor.at += Math.max(0, length);
    if (cursor.long() !== 0 || cursor.at !== recordEnd) return null;
    records.push(new FetchedRecord(offset, value, buffer, keyAt, keyEnd));
  }
  return records;
}

/**
 * Lets kafkajs read fetched records by `plainRecords`. Call it before a consumer of this process fetches.
 *
 * Why: half of the CPU of a first load's consumers was the client's decoder and the garbage that it makes. For each
 * record it makes an object with nine fields, a copy of the batch's header, and big integers for time and offset.
 *
 * How: kafkajs 2.2.4 (pinned; no release since 2023) loads its decoder of batches at the first fetch. This function
 * takes the decoder's place among the loaded modules, and calls it for every batch that `plainRecords` does not read.
 * If kafkajs has loaded it already, or would no longer load it from there, nothing changes but the speed.
 */
export function readRecordsFast(): void {
  const require = createRequire(import.meta.url);
  const path = require.resolve('kafkajs/src/protocol/recordBatch/v0/decoder');
  const theirs = require(path) as DecodeBatch & { isOurs?: true };
  if (theirs.isOurs) return;
  const decode = async (answer: Answer): Promise<Batch> => {
    const records = plainRecords(answer);
    if (records === null) return theirs(answer);
    answer.offset += afterLength + answer.buffer.readInt32BE(answer.offset + lengthAt);
    return { records };
  };
  require.cache[path]!.exports = Object.assign(decode, { isOurs: true });
}
