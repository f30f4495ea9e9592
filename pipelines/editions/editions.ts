import type { RegisterName } from '../../schemas/registers.ts';
import type { Pool, PoolClient } from '../runtime/postgres.ts';

/** A row of `edition`, named as in the database. */
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
}

type Queryable = Pick<Pool | PoolClient, 'query'>;

/** Newest first. */
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

/** The oldest edition that has not come all the way (published, materialised, notified). */
export async function oldestUnfinishedEdition(database: Queryable, register: RegisterName): Promise<number | null> {
  const { rows } = await database.query<{ number: number }>(
    'SELECT number FROM edition WHERE register = $1 AND avisada_at IS NULL ORDER BY number LIMIT 1',
    [register],
  );
  return rows[0]?.number ?? null;
}

/**
 * Names of the change files up to `last` from the last full edition on: one that wrote every row of the register (the first,
 * a re-baseline). Folded in order they are the state.
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

/** The publication that the state of an edition stands on: its own, or for a correction the last one before it. */
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

/** Counts of the last editions that were differences, newest first: what is normal for this register. */
export async function recentCounts(
  database: Queryable,
  register: RegisterName,
  maxEditions: number,
): Promise<Record<string, unknown>[]> {
  const { rows } = await database.query<{ counts: Record<string, unknown> }>(
    // A full edition is everything at once and corrections are no publications: neither tells what a day brings.
    `SELECT counts FROM edition WHERE register = $1 AND number > 1 AND corrects IS NULL
       AND COALESCE((counts->>'baseline')::bigint, 0) = 0 ORDER BY number DESC LIMIT $2`,
    [register, maxEditions],
  );
  return rows.map((row) => row.counts);
}

/** Every change is in Kafka: then also the publication, or the correction, is `publicada`. Set once; repeatable. */
export async function recordPublished(client: PoolClient, register: RegisterName, number: number): Promise<void> {
  await client.query(
    'UPDATE edition SET publicada_at = COALESCE(publicada_at, now()) WHERE register = $1 AND number = $2',
    [register, number],
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

/** The state in ClickHouse is this edition's. Set once; repeatable. */
export async function recordMaterialised(database: Queryable, register: RegisterName, number: number): Promise<void> {
  await database.query(
    `UPDATE edition SET materializada_at = now()
     WHERE register = $1 AND number = $2 AND materializada_at IS NULL AND publicada_at IS NOT NULL`,
    [register, number],
  );
}

/** Every notice of this edition is written. Set once: from here on the edition is never told again. */
export async function recordNotified(database: Queryable, register: RegisterName, number: number): Promise<void> {
  await database.query(
    `UPDATE edition SET avisada_at = now()
     WHERE register = $1 AND number = $2 AND avisada_at IS NULL AND materializada_at IS NOT NULL`,
    [register, number],
  );
}
