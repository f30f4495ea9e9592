import type { Kafka } from 'kafkajs';
import type { RegisterName } from '../../schemas/registers.ts';
import type { Logger } from '../runtime/log.ts';
import type { Tracing } from '../runtime/tracing/tracing.ts';
import type { RecordSchemas } from '../stream/writer-schemas.ts';
import type { LoopMetrics } from './loop-metrics.ts';

export interface ChangeMessage {
  offset: string;
  /** In the register's current schema, except for the columns of its rows where `columns` says how many they are. */
  value: Buffer;
  /** Of a record whose rows have the columns of another release (RowColumns `as_written`). */
  columns?: number;
  headers?: Readonly<Record<string, unknown>>;
}

/** Records of one partition in order, all of one fetch. */
export interface ChangeBatch {
  register: RegisterName;
  topic: string;
  partition: number;
  firstOffset: string;
  lastOffset: string;
  messages: readonly ChangeMessage[];
  /**
   * The loop heartbeats by itself. A handler that waits calls it to say that it is not stuck, and learns at once when the
   * partition was taken away or the process stops (it throws then; let it).
   */
  heartbeat(): Promise<void>;
  /** True: the partition may belong to another consumer by now, and nothing of this batch will be committed. */
  isStale(): boolean;
}

/**
 * Does one batch's work. The loop commits after it resolves, so a batch may come again: work must be repeatable.
 * @throws UndecodableRecord to stop the partition there; an error that isRetryable() tells from a bug is tried again
 */
export type BatchHandler = (batch: ChangeBatch) => Promise<void>;

export interface LoopLimits {
  maxBytesPerPartition: number;
  /** Of one fetch: bounds the memory of the process, some 20 bytes for each byte of records. */
  maxBytesPerFetch: number;
  minBytes: number;
  maxWaitMs: number;
  concurrentPartitions: number;
  sessionTimeoutMs: number;
  rebalanceTimeoutMs: number;
  heartbeatMs: number;
  noProgressMs: number;
  retryFirstMs: number;
  retryMostMs: number;
}

export interface LoopOptions {
  kafka: Kafka;
  group: string;
  topics: readonly { topic: string; register: RegisterName }[];
  /** A record that it cannot bring to the current schema stops its partition. */
  schemas: RecordSchemas;
  handle: BatchHandler;
  log: Logger;
  metrics: LoopMetrics;
  /** Left out: none. */
  tracing?: Tracing;
  /** The loop cannot go on: a bug in the handler, a crash of the client, a stuck partition. End the process. */
  onFailure: (error: Error) => void;
  limits?: Partial<LoopLimits>;
}
