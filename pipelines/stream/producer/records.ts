import type { Message } from 'kafkajs';
import { sizeOfLong, writeLong } from '../../changes/avro.ts';
import { UndecodableRecord } from '../../changes/errors.ts';
import { schemaHeader } from '../../changes/record.ts';
import { BlockCursor, layoutOf } from '../../changes/record-bytes.ts';

/**
 * Cuts the blocks of a change file into records and adds the records to chunks for Kafka. A record's value is a
 * five-byte header with the schema's id, then the record's unchanged bytes. The record's key (a RUC or a supplier's id)
 * is its Kafka key too, and decides the partition.
 */
export class RecordCutter {
  readonly #record: BlockCursor;
  readonly #header: Buffer;
  readonly #edition: number;
  /** Number of records so far in each partition. */
  readonly rowsByPartition: number[];

  /** `schema` is the parsed JSON of the schema in the file. `schemaId` is the registry's id of this schema. */
  constructor(options: { schema: unknown; schemaId: number; edition: number; partitions: number }) {
    this.#header = schemaHeader(options.schemaId);
    this.#record = new BlockCursor(layoutOf(options.schema));
    this.#edition = options.edition;
    this.rowsByPartition = new Array(options.partitions).fill(0);
  }

  /**
   * Adds one block of `count` records to the chunk. If `chunk` is null, the records are only counted.
   * @throws UndecodableRecord if the block does not fit the schema or belongs to another edition
   */
  cut(bytes: Buffer, count: number, chunk: PreparedChunk | null): void {
    const record = this.#record;
    const rows = this.rowsByPartition;
    record.open({ bytes, count });
    while (record.next()) {
      const { keyAt, keyEnd } = record;
      if (record.edition !== this.#edition) throw new UndecodableRecord('of another edition');
      if (keyAt === keyEnd) throw new UndecodableRecord('an empty key');
      const partition = partitionOf(bytes, keyAt, keyEnd, rows.length);
      rows[partition]! += 1;
      chunk?.add(partition, this.#header, bytes, record.start, record.at, keyAt, keyEnd);
    }
  }
}

// The constants of `murmur2` below. `murmur2` is the hash of Kafka's own Java client (seed 0x9747b28c), so every
// producer puts a RUC into the same partition.
const seed = 0x9747b28c;
const multiplier = 0x5bd1e995;

/**
 * Returns the partition of the key in `bytes` from `start` to `end`. Never change this function. Otherwise a RUC's
 * records would be in two partitions, and Kafka keeps order only within one. More partitions move RUCs too, so their
 * number may grow only between editions, when ClickHouse has all earlier records.
 */
export function partitionOf(bytes: Uint8Array, start: number, end: number, partitions: number): number {
  return (murmur2(bytes, start, end) & 0x7fffffff) % partitions;
}

/** Returns the hash of bytes[start, end) as a signed 32-bit number. */
export function murmur2(bytes: Uint8Array, start: number, end: number): number {
  let hash = seed ^ (end - start);
  let at = start;
  for (; at + 4 <= end; at += 4) {
    let block = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    block = Math.imul(block, multiplier);
    block ^= block >>> 24;
    hash = Math.imul(hash, multiplier) ^ Math.imul(block, multiplier);
  }
  const left = end - at;
  if (left === 3) hash ^= bytes[at + 2]! << 16;
  if (left >= 2) hash ^= bytes[at + 1]! << 8;
  if (left >= 1) hash = Math.imul(hash ^ bytes[at]!, multiplier);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, multiplier);
  return hash ^ (hash >>> 15);
}

/**
 * The records of one chunk by partition, already in Kafka's wire format (record batch version 2).
 *
 * Why: the Kafka client makes a 512-byte buffer and some twenty objects for every record that it encodes. That took 8
 * µs per record, the largest part of the time of a first load. Here each record is copied once, from the change file's
 * bytes into the buffer of its partition. The client still does the rest: batch headers, checksums, sequence numbers,
 * the choice of the broker, and retries.
 *
 * How: kafkajs 2.2.4 (pinned; no release since 2023) uses only a few members of its message list (`asMessages`):
 * - `find` looks for a message without a value.
 * - `reduce` groups the messages by partition.
 * - `length` and `map` of each group: `map` is called first for timestamps, then for encoded records.
 * Unit tests compare the bytes with the client's own encoder. Contract tests read the records back.
 */
export class PreparedChunk {
  readonly #partitions: PreparedPartition[];
  rows = 0;

  /** Every record gets the same `recordHeaders`. */
  constructor(partitions: number, recordHeaders: RecordHeaders = {}, firstBytes = 64 * 1024) {
    const trailer = encodeRecordHeaders(recordHeaders);
    this.#partitions = Array.from({ length: partitions }, () => new PreparedPartition(trailer, firstBytes));
  }

  /** Bytes of all partitions together. A batch has the records of one partition, so no batch is larger than this. */
  get bytes(): number {
    return this.#partitions.reduce((sum, partition) => sum + partition.bytes, 0);
  }

  /** Empties the chunk. Call it only after the chunk's send has ended, because a retry encodes the same bytes again. */
  clear(): void {
    this.rows = 0;
    for (const partition of this.#partitions) partition.clear();
  }

  /** Adds a record. Its key is bytes[keyStart, keyEnd), and its value is `header` followed by bytes[start, end). */
  add(
    partition: number,
    header: Uint8Array,
    bytes: Uint8Array,
    start: number,
    end: number,
    keyStart: number,
    keyEnd: number,
  ): void {
    this.#partitions[partition]!.add(header, bytes, start, end, keyStart, keyEnd);
    this.rows += 1;
  }

  /** Returns the chunk as the message list that the Kafka client expects. */
  asMessages(): Message[] {
    const filled = [...this.#partitions.entries()].filter(([, { length }]) => length > 0);
    const byPartition = Object.fromEntries(filled);
    return { length: this.rows, find: () => undefined, reduce: () => byPartition } as unknown as Message[];
  }
}

/** Headers of a Kafka record. A reader can use them without decoding the key or the value. */
export type RecordHeaders = Readonly<Record<string, string>>;

function encodeRecordHeaders(headers: RecordHeaders): Buffer {
  const texts = Object.entries(headers).flatMap((pair) => pair.map((text) => Buffer.from(text, 'utf8')));
  const out = Buffer.alloc(texts.reduce((sum, text) => sum + text.length + mostPerLength, mostPerLength));
  let at = writeLong(out, 0, texts.length / 2);
  for (const text of texts) {
    at = writeLong(out, at, text.length);
    at += text.copy(out, at);
  }
  return out.subarray(0, at);
}

/** The two fields of an encoded record that the Kafka client reads. */
interface Encoded {
  buf: Buffer;
  buffer: Buffer;
}
const nothing: Encoded = { buf: Buffer.alloc(0), buffer: Buffer.alloc(0) };
const probe = { key: Buffer.alloc(0), value: Buffer.alloc(0) };
/** Most bytes that `add` writes besides key, value and headers: six numbers of at most five bytes, rounded up to 32. */
const mostAround = 32;
const mostPerLength = 5;

class PreparedPartition {
  length = 0;
  readonly #trailer: Buffer;
  #bytes: Buffer;
  #at = 0;

  constructor(trailer: Buffer, firstBytes: number) {
    this.#trailer = trailer;
    this.#bytes = Buffer.allocUnsafeSlow(firstBytes);
  }

  get bytes(): number {
    return this.#at;
  }

  clear(): void {
    this.length = 0;
    this.#at = 0;
  }

  add(header: Uint8Array, bytes: Uint8Array, start: number, end: number, keyStart: number, keyEnd: number): void {
    const keyLength = keyEnd - keyStart;
    const valueLength = header.length + end - start;
    const trailer = this.#trailer;
    this.#reserve(keyLength + valueLength + trailer.length + mostAround);
    const to = this.#bytes;
    const offsetDelta = this.length;
    // The fields of a record are attributes and timestamp delta (both 0), offset delta, key, value and headers.
    const texts = sizeOfLong(keyLength) + keyLength + sizeOfLong(valueLength) + valueLength;
    const size = 2 + sizeOfLong(offsetDelta) + texts + trailer.length;
    let at = writeLong(to, this.#at, size);
    to[at++] = 0;
    to[at++] = 0;
    at = writeLong(to, at, offsetDelta);
    at = writeLong(to, at, keyLength);
    for (let from = keyStart; from < keyEnd; from += 1) to[at++] = bytes[from]!;
    at = writeLong(to, at, valueLength);
    for (let from = 0; from < header.length; from += 1) to[at++] = header[from]!;
    to.set(bytes.subarray(start, end), at);
    at += end - start;
    for (let from = 0; from < trailer.length; from += 1) to[at++] = trailer[from]!;
    this.#at = at;
    this.length += 1;
  }

  /**
   * The Kafka client takes this object for its array of messages, and calls `map` twice. If the callback returns an
   * object (an encoded record), it is the second call.
   * - The first call asks for timestamps and gets none, so all records get the time of sending.
   * - The second call asks for one encoded record per message. The first message gets the bytes of all records, and
   *   every other message gets an empty record.
   */
  map(callback: (message: typeof probe, index: number) => unknown): unknown[] {
    if (typeof callback(probe, 0) !== 'object') return [];
    const encoded: Encoded[] = new Array(this.length).fill(nothing);
    encoded[0] = { buf: this.#bytes, buffer: this.#bytes.subarray(0, this.#at) };
    return encoded;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
