import { randomUUID } from 'node:crypto';
import type { Kafka, KafkaMessage } from 'kafkajs';
import { z } from 'zod';
import { editionsTopic, type RegisterName } from '../../schemas/registers.ts';
import { avroType, headerBytes } from '../changes/record.ts';
import { StreamError, type StreamOffsets } from './kafka.ts';

export interface TailDependencies {
  kafka: Kafka;
  offsets: StreamOffsets;
  prefix: string;
}

/** A part of a topic: in each partition, the records from `from` up to but not including `end`. */
export interface Tail {
  topic: string;
  from: readonly number[];
  ends: readonly number[];
}

/** Reading stops with an error when Kafka sends nothing for this time. */
const maxSilenceMs = 30_000;

/**
 * Reads part of a topic from the offsets that the caller gives. The client reads only as a consumer group, so this makes
 * a group with a name of its own and deletes it. It commits nothing. If the process dies here, Kafka removes the empty
 * group by itself.
 */
export async function readTail(
  { kafka, prefix }: Pick<TailDependencies, 'kafka' | 'prefix'>,
  { topic, from, ends }: Tail,
  take: (message: KafkaMessage, partition: number) => void,
): Promise<void> {
  const open = new Map<number, number>();
  for (const [partition, end] of ends.entries()) if ((from[partition] ?? 0) < end) open.set(partition, end);
  if (open.size === 0) return;
  const groupId = `${prefix}padron.catalogue.${randomUUID()}`;
  const consumer = kafka.consumer({ groupId, allowAutoTopicCreation: false, maxWaitTimeInMs: 100 });
  let silence: NodeJS.Timeout | undefined;
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await new Promise<void>((resolve, reject) => {
      const fail = () => reject(new StreamError('read_failed', `Kafka sent nothing of ${topic}`, { retryable: true }));
      silence = setTimeout(fail, maxSilenceMs);
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
      consumer
        .run({
          autoCommit: false,
          eachBatch: async ({ batch, isStale }) => {
            const end = open.get(batch.partition);
            // `isStale` is true for a batch that was fetched before the `seek` below moved its partition. The batch is
            // skipped, because it does not begin at the wanted offset.
            if (isStale() || end === undefined) return;
            for (const message of batch.messages) {
              const offset = Number(message.offset);
              if (offset >= (from[batch.partition] ?? 0) && offset < end) take(message, batch.partition);
            }
            if (Number(batch.lastOffset()) >= end - 1) open.delete(batch.partition);
            silence?.refresh();
            if (open.size === 0) resolve();
          },
        })
        .catch(reject);
      // `run` has already made the client's group object, without which `seek` would throw. The client has not fetched
      // yet, so it applies these seeks before its first fetch.
      for (const [partition, end] of ends.entries()) {
        consumer.seek({ topic, partition, offset: String(open.has(partition) ? (from[partition] ?? 0) : end) });
      }
    });
  } finally {
    clearTimeout(silence);
    await consumer.disconnect();
    await deleteGroup(kafka, groupId);
  }
}

async function deleteGroup(kafka: Kafka, groupId: string): Promise<void> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    await admin.deleteGroups([groupId]);
  } catch {
    // An empty group without offsets does no harm, and Kafka removes it by itself.
  } finally {
    await admin.disconnect();
  }
}

const editionRecord = z.object({
  edition: z.number(),
  fecha_dato: z.string(),
  rows: z.number(),
  change_file_sha256: z.string(),
  end_offsets: z.array(z.number()),
});

/** A record of the editions topic. `end` is the offset after it. */
export type EditionRecord = z.output<typeof editionRecord> & { end: number };

/** The records of the register's editions topic from offset `from` on, in their order. None is read if there is none. */
export async function editionRecords(
  dependencies: TailDependencies,
  register: RegisterName,
  from: number,
): Promise<EditionRecord[]> {
  const topic = editionsTopic(dependencies.prefix, register);
  const ends = await dependencies.offsets.ends(topic);
  const found: EditionRecord[] = [];
  await readTail(dependencies, { topic, from: [from], ends }, ({ value, offset }) => {
    const record = avroType('edition').fromBuffer(value!.subarray(headerBytes));
    found.push({ ...editionRecord.parse(record), end: Number(offset) + 1 });
  });
  return found;
}
