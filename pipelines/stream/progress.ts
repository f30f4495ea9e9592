import { changesTopic, type RegisterName } from '../../schemas/registers.ts';
import { editionPartitions, editionsBeyond } from '../editions/partitions.ts';
import type { Pool } from '../runtime/postgres.ts';
import type { StreamOffsets } from './ports.ts';

export interface ProgressParts {
  pool: Pool;
  offsets: StreamOffsets;
  prefix: string;
}

/**
 * Whether the group has committed everything up to the edition's end, in every partition. False before it is published, and where
 * the group stands beyond the log's end: the log has lost what it had read there, and what came in its place it may not have read.
 */
export async function groupPassed(
  { pool, offsets, prefix }: ProgressParts,
  group: string,
  register: RegisterName,
  edition: number,
): Promise<boolean> {
  const ends = await editionPartitions(pool, register, edition);
  if (ends.length === 0) return false;
  const topic = changesTopic(prefix, register);
  const committed = await offsets.committed(group, topic);
  if (!ends.every(({ partition, end_offset }) => (committed[partition] ?? 0) >= end_offset)) return false;
  const logEnds = await offsets.ends(topic);
  return logEnds.every((end, partition) => (committed[partition] ?? 0) <= end);
}

/** Editions that Kafka lost (a wiped or cut log), oldest first: each is to be published again from its change file. */
export async function editionsToRepublish(
  { pool, offsets, prefix }: ProgressParts,
  register: RegisterName,
): Promise<number[]> {
  return editionsBeyond(pool, register, await offsets.ends(changesTopic(prefix, register)));
}
