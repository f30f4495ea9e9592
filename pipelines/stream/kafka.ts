import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Kafka, Message, PartitionerArgs, Producer } from 'kafkajs';
import type { PreparedChunk } from './producer/records.ts';

/** An admin connection that reads offsets. */
export async function connectOffsets(kafka: Kafka): Promise<StreamOffsets> {
  const admin = kafka.admin();
  await admin.connect();
  return {
    ends: async (topic) =>
      byPartition(
        (await untilSettled(() => admin.fetchTopicOffsets(topic))).map(({ partition, high }) => [partition, high]),
      ),
    committed: async (group, topic) => committedOf(admin, group, topic),
    close: () => admin.disconnect(),
  };
}

const passing = new Set([
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
  'NOT_LEADER_FOR_PARTITION',
  'LEADER_NOT_AVAILABLE',
]);
const settleWaitMs = 15_000;
const settlePollMs = 200;

/**
 * A broker that has just started, or meets a group or a topic for the first time, has no coordinator or leader for it for
 * some seconds, and the client leaves that to its caller.
 */
async function untilSettled<Result>(call: () => Promise<Result>): Promise<Result> {
  const deadline = Date.now() + settleWaitMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!passing.has(String((error as { type?: unknown }).type)) || Date.now() > deadline) throw error;
      await sleep(settlePollMs);
    }
  }
}

async function committedOf(admin: Admin, group: string, topic: string): Promise<number[]> {
  const answer = await untilSettled(() => admin.fetchOffsets({ groupId: group, topics: [topic] }));
  const found = answer[0]?.partitions ?? [];
  // -1: the group has committed nothing there.
  return byPartition(found.map(({ partition, offset }) => [partition, offset === '-1' ? '0' : offset]));
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

/**
 * An idempotent producer that sends one request at a time. A send that fails in the end discards the producer and the
 * next send makes a new one: the client takes back the sequence numbers of a failed send, and if the broker had in fact
 * appended it, the next, different records under the same numbers would be taken for repeats and dropped.
 */
export class KafkaChunkSender implements ChunkSender {
  readonly #kafka: Kafka;
  readonly #requestTimeoutMs: number;
  #producer: Producer | undefined;

  constructor(kafka: Kafka, options: { requestTimeoutMs: number }) {
    this.#kafka = kafka;
    this.#requestTimeoutMs = options.requestTimeoutMs;
  }

  send(topic: string, records: OutgoingRecord[]): Promise<void> {
    return this.#send(topic, records);
  }

  sendPrepared(topic: string, chunk: PreparedChunk): Promise<void> {
    return this.#send(topic, chunk.asMessages());
  }

  async #send(topic: string, messages: Message[]): Promise<void> {
    try {
      this.#producer ??= await this.#connect();
      // acks -1: every in-sync replica has it, which idempotence requires too.
      await this.#producer.send({ topic, messages, acks: -1, timeout: this.#requestTimeoutMs });
    } catch (error) {
      const producer = this.#producer;
      this.#producer = undefined;
      await producer?.disconnect().catch(() => {});
      throw new StreamError('send_failed', `Kafka did not acknowledge a chunk for ${topic}`, {
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

/** The only Kafka words that other folders use. Offsets are numbers: 2^53 records are out of reach. */

/** Reads offsets from outside any consumer. By partition, in order. */
export interface StreamOffsets {
  /** The offset after the last record. */
  ends(topic: string): Promise<readonly number[]>;
  /** What the group has committed: the next offset it would read; 0 where it has committed nothing. */
  committed(group: string, topic: string): Promise<readonly number[]>;
  close(): Promise<void>;
}

interface OutgoingRecord {
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
  | 'producer_failed'
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
