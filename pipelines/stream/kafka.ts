import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Kafka, Message, PartitionerArgs, Producer } from 'kafkajs';
import { processLimitMs } from '../runtime/kafka/connect.ts';
import { kafkaError } from '../runtime/kafka/reasons.ts';

/**
 * Reads a topic's offsets without consuming it. Each result lists one offset per partition, in order of partition.
 * Kafka's 64-bit offsets become JavaScript numbers, because they stay far below 2^53.
 */
export interface StreamOffsets {
  /** The offset after the last record of each partition. */
  ends(topic: string): Promise<readonly number[]>;
  /** The offset that a consumer group would read next in each partition; 0 where the group has committed nothing. */
  committed(group: string, topic: string): Promise<readonly number[]>;
  close(): Promise<void>;
}

/**
 * Opens an admin connection. A broker that goes away while a process starts is waited for, as when it is away before
 * (`connectKafka`).
 */
export async function connectAdmin(kafka: Kafka): Promise<Admin> {
  const admin = kafka.admin();
  await untilSettled(() => admin.connect(), isAway, processLimitMs);
  return admin;
}

/** Opens an admin connection that reads offsets. */
export async function connectOffsets(kafka: Kafka): Promise<StreamOffsets> {
  const admin = await connectAdmin(kafka);
  return {
    ends: async (topic) =>
      byPartition(
        (await untilSettled(() => admin.fetchTopicOffsets(topic))).map(({ partition, high }) => [partition, high]),
      ),
    committed: async (groupId, topic) => {
      const [answer] = await untilSettled(() => admin.fetchOffsets({ groupId, topics: [topic] }));
      // Kafka answers -1 when the group has committed nothing in a partition.
      return byPartition(
        (answer?.partitions ?? []).map(({ partition, offset }) => [partition, offset === '-1' ? '0' : offset]),
      );
    },
    close: () => admin.disconnect(),
  };
}

const transientErrors = new Set([
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
  'NOT_LEADER_FOR_PARTITION',
  'LEADER_NOT_AVAILABLE',
]);
const settleWaitMs = 15_000;
const settlePollMs = 200;

const isTransient = (error: unknown) => transientErrors.has(String((error as { type?: unknown }).type));

const awayErrors = new Set([
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSBrokerNotFound',
  'KafkaJSGroupCoordinatorNotFound',
  'KafkaJSLockTimeout',
  'KafkaJSMetadataNotLoaded',
]);

/**
 * Whether the client failed because brokers were away or a group's coordinator moved. The client itself takes some of
 * these errors for final, such as that no broker knew the coordinator at the moment when a broker stopped.
 */
export function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return awayErrors.has(error.name) || isTransient(error) || isAway(error.cause);
}

/**
 * Repeats a call while a consumer group has no coordinator or a partition has no leader. Both happen for some seconds
 * after a broker starts or dies, and when a group or a topic is new. The Kafka client repeats no such call.
 */
export async function untilSettled<Result>(
  call: () => Promise<Result>,
  isUnsettled: (error: unknown) => boolean = isAway,
  waitMs = settleWaitMs,
): Promise<Result> {
  const deadline = Date.now() + waitMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isUnsettled(error) || Date.now() > deadline) throw error;
      await sleep(settlePollMs);
    }
  }
}

function byPartition(pairs: readonly (readonly [number, string])[]): number[] {
  const result: number[] = new Array(pairs.length).fill(0);
  for (const [partition, offset] of pairs) result[partition] = Number(offset);
  return result;
}

function givenPartition({ message }: PartitionerArgs): number {
  if (message.partition === undefined) throw new TypeError('a record without a partition');
  return message.partition;
}

const sendTimeoutMs = 30_000;

/**
 * An idempotent producer that sends one request at a time. After a failed send, the next send uses a new Kafka
 * producer. The old producer would use the sequence numbers of the failed send again. If the broker had stored the
 * failed send's records, the broker would take the next, different records for repeats. It would drop them.
 */
export class KafkaChunkSender {
  readonly #kafka: Kafka;
  #producer: Producer | undefined;

  constructor(kafka: Kafka) {
    this.#kafka = kafka;
  }

  /**
   * Resolves when all in-sync replicas have the records. Until then the caller must not change the buffers of the
   * messages.
   * @throws StreamError `send_failed` if it is unknown whether the broker has the records. The caller must then send
   *   them again, and readers may see them twice.
   */
  async send(topic: string, messages: Message[]): Promise<void> {
    try {
      this.#producer ??= await this.#connect();
      // With acks -1 the broker answers once every in-sync replica has the chunk. Idempotence requires -1 too.
      await this.#producer.send({ topic, messages, acks: -1, timeout: sendTimeoutMs });
    } catch (error) {
      const producer = this.#producer;
      this.#producer = undefined;
      await producer?.disconnect().catch(() => {});
      const { message } = kafkaError(error, 'its brokers');
      throw new StreamError('send_failed', `Kafka did not acknowledge a chunk for ${topic}. ${message}`, {
        retryable: true,
        cause: error,
      });
    }
  }

  async close(): Promise<void> {
    await this.#producer?.disconnect();
    this.#producer = undefined;
  }

  async #connect(): Promise<Producer> {
    const producer = this.#kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: () => givenPartition,
      retry: { retries: 5, initialRetryTime: 200, maxRetryTime: 5_000, factor: 0.2, multiplier: 2 },
    });
    await producer.connect();
    return producer;
  }
}

/**
 * The name of the Kafka header that marks a record that `replayEdition` (produce.ts) sent once more. The consumer
 * `watch` ignores such a record, so that nobody is notified twice. The consumer `materialize` processes it like any
 * other record, because its key and version are unchanged.
 */
export const replayHeader = 'replay';

export type StreamErrorCode =
  | 'send_failed'
  | 'read_failed'
  | 'topic_settings_differ'
  | 'topic_missing'
  | 'schema_incompatible'
  | 'schema_differs'
  | 'schema_missing'
  | 'columns_moved'
  | 'registry_unavailable'
  | 'change_file_differs'
  | 'producer_failed'
  | 'materialised_count_differs'
  | 'edition_unknown'
  | 'edition_lost'
  | 'stream_differs';

export class StreamError extends Error {
  override name = 'StreamError';
  readonly code: StreamErrorCode;
  readonly retryable: boolean;

  constructor(code: StreamErrorCode, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}
