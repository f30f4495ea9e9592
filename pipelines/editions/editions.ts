import type { RegisterName } from '../../schemas/registers.ts';
import type { Pool, PoolClient, Queryable } from '../runtime/postgres.ts';

export interface Edition {
  register: RegisterName;
  number: number;
  publication_id: number | null;
  corrects: number | null;
  fecha_dato: string;
  published_at: Date;
  detected_at: Date;
  change_file_sha256: string;
  overlay_sha256: string | null;
  parser_version: number;
  columns: string[];
  changes: number;
  counts: Record<string, unknown>;
  publicada_at: Date | null;
  materializada_at: Date | null;
  avisada_at: Date | null;
  /** Offset after the edition's record in the editions topic. Null when it is not known. */
  stream_end: number | null;
}

export async function listEditions(
  database: Queryable,
  filter: { register: RegisterName | null; maxRows: number },
): Promise<Edition[]> {
  const { rows } = await database.query<Edition>(
    `SELECT * FROM edition WHERE $1::text IS NULL OR register = $1 ORDER BY register, number DESC LIMIT $2`,
    [filter.register, filter.maxRows],
  );
  return rows;
}

export async function findEdition(
  database: Queryable,
  register: RegisterName,
  number: number,
): Promise<Edition | null> {
  const { rows } = await database.query<Edition>('SELECT * FROM edition WHERE register = $1 AND number = $2', [
    register,
    number,
  ]);
  return rows[0] ?? null;
}

/** Returns the editions after this one, the oldest first. */
export async function editionsAfter(database: Queryable, register: RegisterName, number: number): Promise<Edition[]> {
  const { rows } = await database.query<Edition>(
    'SELECT * FROM edition WHERE register = $1 AND number > $2 ORDER BY number',
    [register, number],
  );
  return rows;
}

/**
 * Number of the oldest unfinished edition: it is not yet published, not yet materialised, or not all its events are
 * written.
 */
export async function oldestUnfinishedEdition(database: Queryable, register: RegisterName): Promise<number | null> {
  const { rows } = await database.query<{ number: number }>(
    'SELECT number FROM edition WHERE register = $1 AND avisada_at IS NULL ORDER BY number LIMIT 1',
    [register],
  );
  return rows[0]?.number ?? null;
}

/**
 * Returns the change files from the last full edition up to edition `last`, in order. A full edition (the first one or
 * a re-baseline) wrote every row. So applying the files in order gives the state.
 */
export async function changeFilesFromLastFull(
  database: Queryable,
  register: RegisterName,
  last: number,
): Promise<{ edition: number; sha256: string }[]> {
  const { rows } = await database.query<{ edition: number; sha256: string }>(
    `SELECT number AS edition, change_file_sha256 AS sha256 FROM edition
     WHERE register = $1 AND number <= $2 AND number >= COALESCE((
       SELECT max(number) FROM edition WHERE register = $1 AND number <= $2 AND (counts->>'baseline')::bigint > 0), 1)
     ORDER BY number`,
    [register, last],
  );
  return rows;
}

/**
 * Returns the publication that an edition was made from. A correction has none. For a correction, returns the
 * publication of the last earlier edition that has one.
 */
export async function publicationUnder(
  database: Queryable,
  register: RegisterName,
  number: number,
): Promise<{ id: number; sha256: string } | null> {
  const { rows } = await database.query<{ id: number; sha256: string }>(
    `SELECT publication.id, publication.sha256 FROM edition JOIN publication ON publication.id = edition.publication_id
     WHERE edition.register = $1 AND edition.number <= $2 ORDER BY edition.number DESC LIMIT 1`,
    [register, number],
  );
  return rows[0] ?? null;
}

/** Counts of the last editions that show a normal day of this register, newest first. */
export async function recentCounts(
  database: Queryable,
  register: RegisterName,
  maxEditions: number,
): Promise<Record<string, unknown>[]> {
  const { rows } = await database.query<{ counts: Record<string, unknown> }>(
    // Full editions write every row, and corrections have no publication. Neither shows a normal day.
    `SELECT counts FROM edition WHERE register = $1 AND number > 1 AND corrects IS NULL
       AND COALESCE((counts->>'baseline')::bigint, 0) = 0 ORDER BY number DESC LIMIT $2`,
    [register, maxEditions],
  );
  return rows.map((row) => row.counts);
}

/**
 * Records that Kafka has all changes of the edition. The edition's publication or correction becomes `publicada`. A
 * repeat changes only `streamEnd`, the offset after the edition's last record in the editions topic.
 */
export async function recordPublished(
  client: PoolClient,
  register: RegisterName,
  number: number,
  streamEnd: number | null = null,
): Promise<void> {
  await client.query(
    `UPDATE edition SET publicada_at = COALESCE(publicada_at, now()), stream_end = COALESCE($3, stream_end)
     WHERE register = $1 AND number = $2`,
    [register, number, streamEnd],
  );
  await client.query(
    `UPDATE publication SET state = 'publicada', state_at = now() FROM edition
     WHERE edition.register = $1 AND edition.number = $2 AND publication.id = edition.publication_id
       AND publication.state = 'publicando'`,
    [register, number],
  );
  await client.query(
    `UPDATE correction SET state = 'publicada', state_at = now()
     WHERE register = $1 AND edition = $2 AND state = 'publicando'`,
    [register, number],
  );
}

/** Records that the state in ClickHouse is this edition's. A repeat changes nothing. */
export async function recordMaterialised(database: Queryable, register: RegisterName, number: number): Promise<void> {
  await database.query(
    `UPDATE edition SET materializada_at = now()
     WHERE register = $1 AND number = $2 AND materializada_at IS NULL AND publicada_at IS NOT NULL`,
    [register, number],
  );
}

/** Records that every event of this edition is written. From then on, this edition makes no further events. */
export async function recordNotified(database: Queryable, register: RegisterName, number: number): Promise<void> {
  await database.query(
    `UPDATE edition SET avisada_at = now()
     WHERE register = $1 AND number = $2 AND avisada_at IS NULL AND materializada_at IS NOT NULL`,
    [register, number],
  );
}

/** Facts that a reader of stored rows needs about the edition that wrote the rows. These facts never change. */
export interface EditionFacts {
  register: RegisterName;
  number: number;
  /** Date of the data, YYYY-MM-DD. A correction has the date of the head that it was made from. */
  fechaDato: string;
  corrects: number | null;
  /** Columns of the edition's rows, in order. Editions of a later release may have other columns. */
  columns: readonly string[];
  /** Whether this edition wrote every row. Even then, the table `register_change` has only those rows that changed. */
  isFull: boolean;
}

/** Returns facts in any order. Editions that do not exist are left out. */
export async function editionFacts(
  pool: Pool,
  wanted: readonly { register: RegisterName; number: number }[],
): Promise<EditionFacts[]> {
  const { rows } = await pool.query<EditionFacts>({
    name: 'edition-facts',
    text: `SELECT register, number, fecha_dato AS "fechaDato", corrects, columns,
                  COALESCE((counts->>'baseline')::bigint, 0) > 0 AS "isFull"
           FROM unnest($1::text[], $2::bigint[]) AS wanted (register, number) JOIN edition USING (register, number)`,
    values: [wanted.map(({ register }) => register), wanted.map(({ number }) => number)],
  });
  return rows;
}

/** Where an edition ends in one partition of the register's Kafka topic of changes. */
export interface EditionPartition {
  partition: number;
  /** Number of the edition's changes in this partition. A change that was produced twice counts once. */
  rows: number;
  end_offset: number;
}

/** Where the edition ends in each partition, in order of partition. Empty until the edition has been produced. */
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

/** Records where an edition ends in each partition. A repeat never lowers an offset that a reader may wait for. */
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
 * Returns the published editions that the Kafka log has lost, oldest first. They must be produced again in this order.
 * An edition is lost in three cases:
 * - A partition of the log ends before the end offset that was recorded for the edition.
 * - The editions topic ends before the edition's record.
 * - The edition has no recorded end offsets, because `forgetEditionsFrom` deleted them.
 * @param logEnds the end offset of each partition of the log
 * @param editionsEnd the end offset of the editions topic
 */
export async function editionsBeyond(
  database: Queryable,
  register: RegisterName,
  logEnds: readonly number[],
  editionsEnd: number,
): Promise<number[]> {
  const { rows } = await database.query<{ number: number }>(
    `SELECT number FROM edition WHERE register = $1 AND publicada_at IS NOT NULL AND (
       stream_end > $3
       OR NOT EXISTS (SELECT 1 FROM edition_partition noted WHERE noted.register = $1 AND noted.edition = edition.number)
       OR EXISTS (
         SELECT 1 FROM edition_partition noted
         LEFT JOIN unnest($2::bigint[]) WITH ORDINALITY AS log (log_end, place) ON place = noted.partition + 1
         WHERE noted.register = $1 AND noted.edition = edition.number AND noted.end_offset > COALESCE(log_end, 0)))
     ORDER BY number`,
    [register, logEnds, editionsEnd],
  );
  return rows.map(({ number }) => number);
}

/**
 * Deletes the recorded end offsets of this edition and of all later editions. A log that lost this edition has lost the
 * later editions too. Call this before any of these editions is produced again. Producing makes the log longer. The
 * log's new end would then hide that later editions are missing.
 */
export async function forgetEditionsFrom(database: Queryable, register: RegisterName, edition: number): Promise<void> {
  await database.query('DELETE FROM edition_partition WHERE register = $1 AND edition >= $2', [register, edition]);
  // If the process dies here, the editions count as lost all the same, because they have no recorded ends.
  await database.query('UPDATE edition SET stream_end = NULL WHERE register = $1 AND number >= $2', [
    register,
    edition,
  ]);
}

/**
 * Returns the end offsets up to which the catalogue has recorded editions: of each partition of the changes topic, and
 * of the editions topic. Records at later offsets may be of editions that the catalogue lacks, as after a restore.
 * @param before in the editions topic, only the records of editions before this one count
 */
export async function recordedEnds(database: Queryable, register: RegisterName, before: number | null = null) {
  const { rows } = await database.query<{ changes: (number | null)[]; editions: number }>(
    `SELECT ARRAY(SELECT (SELECT max(end_offset) FROM edition_partition noted
         WHERE noted.register = head.register AND noted.partition = place)::float8
       FROM generate_series(0, head.partitions - 1) AS place ORDER BY place) AS changes,
       COALESCE((SELECT max(stream_end) FROM edition
         WHERE edition.register = head.register AND ($2::bigint IS NULL OR number < $2)), 0) AS editions
     FROM register_head head WHERE head.register = $1`,
    [register, before],
  );
  const found = rows[0];
  return { changes: found?.changes.map((end) => end ?? 0) ?? [], editions: found?.editions ?? 0 };
}
