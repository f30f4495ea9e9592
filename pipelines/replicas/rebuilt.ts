import type { Kafka } from 'kafkajs';
import { changesTopic, type RegisterName } from '../../schemas/registers.ts';
import { editionPartitions } from '../editions/editions.ts';
import type { ClickHouseClient } from '../runtime/clickhouse.ts';
import type { Pool } from '../runtime/postgres.ts';
import type { StreamOffsets } from '../stream/kafka.ts';
import { materializeGroup } from '../stream/topics.ts';
import { beginStore, forgetHeld, readReplicas, recordHeld } from './catalogue.ts';
import { type GroupPlace, goOnAt, storeFacts } from './store.ts';

interface RebuiltReplica {
  pool: Pool;
  kafka: Kafka;
  offsets: StreamOffsets;
  prefix: string;
  name: string;
  clickhouse: ClickHouseClient;
}

/**
 * Takes a replica whose registers were all rebuilt from the archive: its consumer group goes on after the rebuilt
 * editions, and the catalogue records them. Without this, a new replica would read every change of all years first.
 * If the process dies after the group was set, the catalogue still knows no store, and the replica's consumers begin at
 * the first record. Rows that are written twice do no harm.
 * @throws Error when consumers of the replica run, since Kafka then does not set their group. They read on by themselves
 */
export async function takeRebuilt(
  { pool, kafka, offsets, prefix, name, clickhouse }: RebuiltReplica,
  rebuilt: readonly { register: RegisterName; edition: number }[],
): Promise<void> {
  const { id } = await storeFacts(clickhouse);
  if (id === null) throw new Error(`the replica ${name} has no tables: run \`npx padron migrate --replica ${name}\``);
  const known = (await readReplicas(pool)).find((replica) => replica.name === name)?.store ?? null;
  const isKnown = known === id;
  const group = materializeGroup(prefix, name);
  const places: GroupPlace[] = [];
  for (const { register, edition } of rebuilt) {
    const topic = changesTopic(prefix, register);
    const committed = isKnown ? await offsets.committed(group, topic) : [];
    const ends = await editionPartitions(pool, register, edition);
    if (ends.every(({ partition, end_offset }) => (committed[partition] ?? 0) >= end_offset)) continue;
    places.push({
      topic,
      partitions: ends.map(({ partition, end_offset }) => ({
        partition,
        offset: String(Math.max(committed[partition] ?? 0, end_offset)),
      })),
    });
  }
  if (!isKnown) await forgetHeld(pool, name, 'its store is new, and was rebuilt from the archive');
  if (places.length > 0) await goOnAt(kafka, group, places);
  if (!isKnown) await beginStore(pool, name, id);
  for (const { register, edition } of rebuilt) await recordHeld(pool, { name, store: id }, register, edition);
}
