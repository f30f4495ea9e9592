import type { RegisterName } from '../../schemas/registers.ts';
import type { Pool, PoolClient } from '../runtime/postgres.ts';

/** Where an edition ends in one partition of its changes topic. */
export interface EditionPartition {
  partition: number;
  /** The edition's changes in it, each counted once. */
  rows: number;
  /** The offset after the edition's last record. */
  end_offset: number;
}

type Queryable = Pick<Pool | PoolClient, 'query'>;

/** By partition, in order; empty before the edition is published. */
export async function editionPartitions(
  database: Queryable,
  register: RegisterName,
  edition: number,
): Promise<EditionPartition[]> {
  const { rows } = await database.query<EditionPartition>(
    `SELECT partition, rows, end_offset FROM edition_partition
     WHERE register = $1 AND edition = $2 ORDER BY partition`,
    [register, edition],
  );
  return rows;
}

/** Notes where an edition ends. A repeat only raises: what an earlier run noted may be waited for already. */
export async function recordEditionPartitions(
  database: Queryable,
  register: RegisterName,
  edition: number,
  ends: readonly EditionPartition[],
): Promise<void> {
  await database.query(
    `INSERT INTO edition_partition AS kept (register, edition, partition, rows, end_offset)
     SELECT $1, $2, * FROM unnest($3::integer[], $4::bigint[], $5::bigint[])
     ON CONFLICT (register, edition, partition)
     DO UPDATE SET rows = EXCLUDED.rows, end_offset = GREATEST(kept.end_offset, EXCLUDED.end_offset)`,
    [
      register,
      edition,
      ends.map(({ partition }) => partition),
      ends.map(({ rows }) => rows),
      ends.map(({ end_offset }) => end_offset),
    ],
  );
}

/**
 * Published editions whose end the log no longer has, oldest first: `logEnds` (by partition) lies below what was noted, or
 * nothing is noted any more (forgetEditionsFrom). They are to be published again in this order.
 */
export async function editionsBeyond(
  database: Queryable,
  register: RegisterName,
  logEnds: readonly number[],
): Promise<number[]> {
  const { rows } = await database.query<{ number: number }>(
    `SELECT number FROM edition WHERE register = $1 AND publicada_at IS NOT NULL AND (
       NOT EXISTS (SELECT 1 FROM edition_partition noted WHERE noted.register = $1 AND noted.edition = edition.number)
       OR EXISTS (
         SELECT 1 FROM edition_partition noted
         LEFT JOIN unnest($2::bigint[]) WITH ORDINALITY AS log (log_end, place) ON place = noted.partition + 1
         WHERE noted.register = $1 AND noted.edition = edition.number AND noted.end_offset > COALESCE(log_end, 0)))
     ORDER BY number`,
    [register, logEnds],
  );
  return rows.map(({ number }) => number);
}

/**
 * The log lost the end of this edition, so it lost all later ones. Called before the first is published again: once new
 * records stand there, the log's end says nothing about what is missing before it.
 */
export async function forgetEditionsFrom(database: Queryable, register: RegisterName, edition: number): Promise<void> {
  await database.query('DELETE FROM edition_partition WHERE register = $1 AND edition >= $2', [register, edition]);
}
