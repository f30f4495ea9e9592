import { type Attributes, SpanKind, type SpanOptions } from '@opentelemetry/api';
import type { Kafka } from 'kafkajs';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { RegisterName } from '../../schemas/registers.ts';
import { peekChange } from '../changes/record.ts';
import type { Logger } from '../runtime/log.ts';
import type { RecordSchemas } from '../stream/writer-schemas.ts';

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
  /** The loop cannot go on: a bug in the handler, a crash of the client, a stuck partition. End the process. */
  onFailure: (error: Error) => void;
  limits?: Partial<LoopLimits>;
}

/** A batch in traces: where it stands in Kafka, by the messaging conventions of OpenTelemetry, and of which editions it is. */
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

/** Editions stand one after another in a partition; a record that cannot be decoded is of none. */
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

/** Shared by all loops of a process; made once. */
export interface LoopMetrics {
  rows: Counter<'group' | 'topic'>;
  batchSeconds: Histogram<'group' | 'topic'>;
  retries: Counter<'group' | 'topic'>;
  /** Records between the committed offset and the end of the log, per partition that this process holds. */
  lag: Gauge<'group' | 'topic' | 'partition'>;
  /** 1 while a partition stands still because a record of it cannot be decoded: somebody has to look. */
  stopped: Gauge<'group' | 'topic' | 'partition'>;
}

export function makeLoopMetrics(registry: Registry): LoopMetrics {
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
      help: 'Batches tried again because an engine did not take them',
      labelNames: ['group', 'topic'],
      registers,
    }),
    lag: new Gauge({
      name: 'padron_consumer_lag',
      help: 'Records not yet committed',
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
