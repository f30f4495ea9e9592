import type { RegisterName } from '../../schemas/registers.ts';
import type { Pool, Queryable } from '../runtime/postgres.ts';

/**
 * What the catalogue knows of the ClickHouse replicas: which of them the API may ask, and which edition of each register
 * each of them holds whole. It matters only for an installation with CLICKHOUSE_REPLICAS.
 *
 * - `serving`: the API may ask the replica.
 * - `joining`: the API may not, but a notice already waits until the replica shows the change. So when the replica begins
 *   to serve, no notice has left of a change that it does not show.
 * - `stopped`: neither.
 */
export type ReplicaState = 'stopped' | 'joining' | 'serving';

/**
 * For this long after a replica stopped serving, a process of the API may still ask it: a process that cannot reach
 * PostgreSQL answers for 60 s by what it knew last (`servesMs` in api/catalogue.ts), and 5 s are left for a slow read.
 */
export const askedAfterStopMs = 65_000;

export interface Replica {
  name: string;
  state: ReplicaState;
  /** When it got its state. */
  state_at: Date;
  /** Why it does not serve. */
  reason: string | null;
  /** Which store its consumer group feeds (`storeFacts`). Null until its consumers process has started once. */
  store: string | null;
  /** Registers of which it lacks the edition that is served, with the edition that it holds; 0 for none. */
  behind: Partial<Record<RegisterName, { holds: number; served: number }>>;
}

/** The replicas that the operator has not taken out, by name. */
export async function readReplicas(database: Queryable): Promise<Replica[]> {
  const { rows } = await database.query<Replica>({
    name: 'read-replicas',
    text: `SELECT name, state, state_at, reason, store, COALESCE((
        SELECT jsonb_object_agg(served.register,
          jsonb_build_object('holds', COALESCE(held.edition, 0), 'served', served.number))
        FROM (SELECT register, max(number) AS number FROM edition WHERE materializada_at IS NOT NULL GROUP BY register) served
        LEFT JOIN replica_edition held ON held.replica = name AND held.register = served.register
        WHERE COALESCE(held.edition, 0) < served.number), '{}') AS behind
      FROM clickhouse_replica WHERE removed_at IS NULL ORDER BY name`,
  });
  return rows;
}

/**
 * Gives the catalogue the replicas that the configuration names. One that is not named any more stops serving and is
 * kept as removed, because an API process may ask it for a while yet. When it is named again, it joins like a new one.
 * Returns the names that were added and removed. A repeat changes nothing.
 */
export async function syncReplicas(
  pool: Pool,
  names: readonly string[],
): Promise<{ added: string[]; removed: string[] }> {
  const added = await pool.query<{ name: string }>(
    `INSERT INTO clickhouse_replica (name, reason) SELECT name, 'it is new' FROM unnest($1::text[]) AS name
     ON CONFLICT (name) DO UPDATE SET removed_at = NULL WHERE clickhouse_replica.removed_at IS NOT NULL
     RETURNING name`,
    [names],
  );
  // The identity of its store is forgotten, so that a replica that comes back under this name is read anew.
  const removed = await pool.query<{ name: string }>(
    `UPDATE clickhouse_replica SET removed_at = now(), state = 'stopped', state_at = now(), reason = 'it was taken out',
       store = NULL, served_until = CASE WHEN state = 'serving' THEN now() ELSE served_until END
     WHERE name <> ALL($1) AND removed_at IS NULL RETURNING name`,
    [names],
  );
  return { added: added.rows.map(({ name }) => name), removed: removed.rows.map(({ name }) => name) };
}

/**
 * Records that the replica holds this edition whole. Nothing is recorded when the catalogue knows another store of the
 * replica: what was counted is then no longer what its consumers feed. With `store` null, no store is compared.
 */
export async function recordHeld(
  database: Queryable,
  { name, store }: { name: string; store: string | null },
  register: RegisterName,
  edition: number,
): Promise<void> {
  await database.query(
    `INSERT INTO replica_edition AS held (replica, register, edition)
     SELECT name, $3, $4 FROM clickhouse_replica WHERE name = $1 AND (store = $2 OR $2 IS NULL)
     ON CONFLICT (replica, register) DO UPDATE SET edition = EXCLUDED.edition, held_at = now()
       WHERE held.edition < EXCLUDED.edition`,
    [name, store, register, edition],
  );
}

/**
 * Begins the records of a store. The replica holds nothing until it is counted again. The caller has set the replica's
 * consumer group to the beginning of the topics.
 */
export async function beginStore(database: Queryable, name: string, store: string): Promise<void> {
  await database.query(
    `INSERT INTO clickhouse_replica (name, store, reason) VALUES ($1, $2, 'it is new')
     ON CONFLICT (name) DO UPDATE SET store = EXCLUDED.store`,
    [name, store],
  );
}

/** Forgets what the replica held, and stops it. Call it before the records of another store begin. */
export async function forgetHeld(database: Queryable, name: string, reason: string): Promise<void> {
  await moveReplica(database, name, 'stopped', reason);
  await database.query('DELETE FROM replica_edition WHERE replica = $1', [name]);
}

/** Moves a replica to another state. A repeat changes nothing but the reason. */
export async function moveReplica(
  database: Queryable,
  name: string,
  to: ReplicaState,
  reason: string | null,
): Promise<void> {
  await database.query(
    `UPDATE clickhouse_replica SET state = $2, reason = $3,
       state_at = CASE WHEN state = $2 THEN state_at ELSE now() END,
       served_until = CASE WHEN state = 'serving' AND $2 <> 'serving' THEN now() ELSE served_until END
     WHERE name = $1 AND removed_at IS NULL`,
    [name, to, reason],
  );
}

/** Which replicas hold an edition, and which are still waited for. */
export interface EditionHolders {
  holders: string[];
  /** Replicas that serve or join without the edition. */
  behind: string[];
  /** How long the first holder has held it, by PostgreSQL's clock. 0 while none does. */
  heldForMs: number;
}

export async function readHolders(
  database: Queryable,
  register: RegisterName,
  edition: number,
): Promise<EditionHolders> {
  const { rows } = await database.query<EditionHolders>({
    name: 'edition-holders',
    text: `SELECT COALESCE(array_agg(name) FILTER (WHERE holds), '{}') AS holders,
        COALESCE(array_agg(name) FILTER (WHERE NOT holds AND state <> 'stopped'), '{}') AS behind,
        COALESCE(extract(epoch FROM now() - min(held_at) FILTER (WHERE holds)) * 1000, 0)::float8 AS "heldForMs"
      FROM (SELECT name, state, held_at, COALESCE(held.edition >= $2, false) AS holds
        FROM clickhouse_replica LEFT JOIN replica_edition held ON held.replica = name AND held.register = $1
        WHERE removed_at IS NULL) AS replicas`,
    values: [register, edition],
  });
  return rows[0]!;
}

/**
 * The replicas that an API process may still ask, or will soon: a notice waits until all of them show its change. A
 * replica that stopped is among them for `askedAfterStopMs`.
 */
export async function replicasThatMayAnswer(database: Queryable): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>({
    name: 'replicas-that-may-answer',
    text: `SELECT name FROM clickhouse_replica
      WHERE state <> 'stopped' OR served_until > now() - $1 * interval '1 millisecond' ORDER BY name`,
    values: [askedAfterStopMs],
  });
  return rows.map(({ name }) => name);
}

/** The replicas that hold an edition whole, those that serve first. */
export async function readHolding(
  database: Queryable,
  register: RegisterName,
  edition: number,
): Promise<{ name: string; store: string | null }[]> {
  const { rows } = await database.query<{ name: string; store: string | null }>({
    name: 'replicas-holding-edition',
    text: `SELECT name, store FROM clickhouse_replica JOIN replica_edition held ON held.replica = name
      WHERE register = $1 AND edition >= $2 AND removed_at IS NULL ORDER BY state = 'serving' DESC, name`,
    values: [register, edition],
  });
  return rows;
}
