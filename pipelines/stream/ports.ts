import type { PreparedChunk } from './prepared-chunk.ts';

/** The only Kafka words that other folders use. Offsets are numbers: 2^53 records are out of reach. */

/** Reads offsets from outside any consumer. By partition, in order. */
export interface StreamOffsets {
  /** The offset after the last record. */
  ends(topic: string): Promise<readonly number[]>;
  /** What the group has committed: the next offset it would read; 0 where it has committed nothing. */
  committed(group: string, topic: string): Promise<readonly number[]>;
  close(): Promise<void>;
}

export interface OutgoingRecord {
  key: Buffer;
  value: Buffer;
  partition: number;
}

/**
 * Sends chunks of records, one at a time. Resolves when all in-sync replicas have a chunk.
 * @throws StreamError when it is not known whether the broker has the chunk: the caller sends it again, so a reader may
 *   see its records twice
 */
export interface ChunkSender {
  send(topic: string, records: OutgoingRecord[]): Promise<void>;
  /** The same for records that are encoded already; the chunk may be changed once this has ended. */
  sendPrepared(topic: string, chunk: PreparedChunk): Promise<void>;
  close(): Promise<void>;
}

/**
 * Marks a record that was in the topic before. State and history take it as any other (the same keys and versions), and
 * nobody is told of it a second time.
 */
export const replayHeader = 'replay';

export type StreamErrorCode =
  | 'send_failed'
  | 'topic_settings_differ'
  | 'topic_missing'
  | 'schema_incompatible'
  | 'schema_differs'
  | 'schema_missing'
  | 'columns_moved'
  | 'registry_unavailable'
  | 'change_file_differs'
  | 'publisher_failed'
  | 'materialised_count_differs'
  | 'edition_unknown'
  | 'edition_not_announced';

export class StreamError extends Error {
  override name = 'StreamError';
  readonly code: StreamErrorCode;
  readonly retryable: boolean;

  constructor(code: StreamErrorCode, message: string, options: { retryable: boolean; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable;
  }
}
