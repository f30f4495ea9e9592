import { type Attributes, SpanKind, type SpanOptions } from '@opentelemetry/api';
import type { Kafka } from 'kafkajs';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { RegisterName } from '../../schemas/registers.ts';
import { peekChange } from '../changes/record.ts';
import type { Logger } from '../runtime/log.ts';
import type { RecordSchemas } from '../stream/writer-schemas.ts';

export interface ChangeMessage {
  offset: string;
  /** A record in the register's current schema, except that its rows may have other columns (see `columns`). */
  value: Buffer;
  /**
   * Number of columns of the record's rows, if another release wrote the record. If it is not set, the rows have the
   * current columns.
   */
  columns?: number;
  headers?: Readonly<Record<string, unknown>>;
}

/** Records of one partition from one fetch, in order. */
export interface ChangeBatch {
  register: RegisterName;
  topic: string;
  partition: number;
  firstOffset: string;
  lastOffset: string;
  messages: readonly ChangeMessage[];
  /**
   * A handler that waits calls this to show that it is not stuck. (The loop sends heartbeats by itself.) The call
   * throws if the partition was taken away or the process stops. The handler must not catch this error.
   */
  heartbeat(): Promise<void>;
  /** True if another consumer may have the partition by now. Then nothing of this batch is committed. */
  isStale(): boolean;
}

/**
 * Does the work of one batch. The loop commits the batch when the promise resolves. If the process dies before the
 * commit, the batch comes again, so a handler must be able to repeat its work.
 * @throws UndecodableRecord to stop the partition at the record that cannot be decoded
 * @throws a retryable error (`passingOf` in runtime/passing-errors.ts) to have the batch tried again
 */
export type BatchHandler = (batch: ChangeBatch) => Promise<void>;

export const loopLimits = {
  /** Limit for the bytes of one batch. Larger batches are fewer inserts, but longer work without a heartbeat. */
  maxBytesPerPartition: 8 * 1024 * 1024,
  /**
   * Limit for the bytes of one fetch. The client fetches again only when all batches of a fetch are done. A fetch has
   * several batches, so that this process makes the rows of one while ClickHouse stores the rows of another.
   */
  maxBytesPerFetch: 32 * 1024 * 1024,
  minBytes: 1024 * 1024,
  maxWaitMs: 100,
  concurrentPartitions: 4,
  sessionTimeoutMs: 30_000,
  rebalanceTimeoutMs: 60_000,
  heartbeatMs: 3_000,
  /** How long a stop waits for running batches and for Kafka. It is shorter than the deadline of the whole process. */
  stopMs: 15_000,
  noProgressMs: 60_000,
  retryFirstMs: 250,
  retryMostMs: 2_000,
  /**
   * How often in a row PostgreSQL may refuse a batch's statements (`Passing` in runtime/passing-errors.ts). The next
   * refusal ends the process, after at least half a minute of tries. An engine that does not answer is waited for
   * without a limit.
   */
  refusalsInARow: 20,
};
export type LoopLimits = typeof loopLimits;

export interface LoopOptions {
  kafka: Kafka;
  group: string;
  topics: readonly { topic: string; register: RegisterName }[];
  /** Converts records of other releases. A record that cannot be converted stops its partition. */
  schemas: RecordSchemas;
  handle: BatchHandler;
  log: Logger;
  metrics: LoopMetrics;
  /** Called when the loop cannot go on: a bug in the handler, a crash of the client, or a stuck partition. */
  onFailure: (error: Error) => void;
  /** Asks the brokers whether one of them answers. A stop need not wait for brokers that are away. */
  areBrokersAway?: () => Promise<boolean>;
  limits?: Partial<LoopLimits>;
}

/** Returns options for the span of a batch. The attributes follow OpenTelemetry's messaging conventions. */
export function spanOptions(group: string, { register, topic, partition, ...batch }: ChangeBatch): SpanOptions {
  return {
    kind: SpanKind.CONSUMER,
    attributes: {
      'messaging.system': 'kafka',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': topic,
      'messaging.destination.partition.id': String(partition),
      'messaging.consumer.group.name': group,
      'messaging.batch.message_count': batch.messages.length,
      'padron.register': register,
      'padron.offset.first': Number(batch.firstOffset),
      'padron.offset.last': Number(batch.lastOffset),
    },
  };
}

/**
 * Returns the first and the last edition of a batch as span attributes. A partition holds its editions in order, so the
 * first and the last record name them.
 */
export function editionsOf({ messages }: ChangeBatch): Attributes {
  try {
    const [first, last] = [peekChange(messages[0]!.value).edition, peekChange(messages.at(-1)!.value).edition];
    return first === last
      ? { 'padron.edition': first }
      : { 'padron.edition.first': first, 'padron.edition.last': last };
  } catch {
    return {};
  }
}

export type LoopMetrics = ReturnType<typeof makeLoopMetrics>;

export function makeLoopMetrics(registry: Registry) {
  const registers = [registry];
  return {
    rows: new Counter({
      name: 'padron_consumer_rows_total',
      help: 'Records handled and committed',
      labelNames: ['group', 'topic'],
      registers,
    }),
    batchSeconds: new Histogram({
      name: 'padron_consumer_batch_seconds',
      help: 'Time from a batch to its commit',
      labelNames: ['group', 'topic'],
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60],
      registers,
    }),
    retries: new Counter({
      name: 'padron_consumer_retries_total',
      help: 'Batches tried again because an engine was away or PostgreSQL refused a statement',
      labelNames: ['group', 'topic', 'cause'],
      registers,
    }),
    lag: new Gauge({
      name: 'padron_consumer_lag',
      help: 'Records between the committed offset and the end of the log, for each partition that this process holds',
      labelNames: ['group', 'topic', 'partition'],
      registers,
    }),
    stopped: new Gauge({
      name: 'padron_consumer_partition_stopped',
      help: 'Partitions that stand still at a record that cannot be decoded',
      labelNames: ['group', 'topic', 'partition'],
      registers,
    }),
  };
}
