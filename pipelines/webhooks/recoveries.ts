import { randomBytes } from 'node:crypto';
import { startRepeating } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/log.ts';
import { inTransaction, type Pool, type PoolClient, type Queryable } from '../runtime/postgres.ts';
import { makeDue } from './resend.ts';
import { raiseWork } from './work.ts';

/**
 * States whose deliveries a recovery may send again. Held deliveries are sent by a resume instead. Cancelled deliveries
 * are never sent. Deliveries of an event that a correction has taken back count in `total`, but `makeDue` in resend.ts
 * does not send them.
 */
export const recoverableStates = ['agotada', 'descartada', 'entregada', 'pendiente'] as const;
export type RecoverableState = (typeof recoverableStates)[number];

export interface Recovery {
  id: string;
  webhookId: string;
  from: Date;
  until: Date;
  states: RecoverableState[];
  estado: 'simulada' | 'en_curso' | 'terminada' | 'cancelada';
  /** How many deliveries matched when the recovery was created. */
  total: number;
  resent: number;
  createdAt: Date;
  finishedAt: Date | null;
}

export interface NewRecovery {
  /** Earliest creation time of the deliveries, included. */
  from: Date;
  /** Latest creation time, excluded; null means now. */
  before: Date | null;
  states: readonly RecoverableState[];
  isSimulated: boolean;
}

/** Largest number of recoveries of one webhook that run at the same time. A customer or an operator may start them. */
export const maxRunningRecoveries = 5;

export interface RecoveryLimits {
  chunkRows: number;
  /**
   * A recovery waits while its webhook has this many due deliveries or more. Otherwise a new delivery would wait until
   * the whole recovery was sent.
   */
  maxDue: number;
  waitMs: number;
}

export const defaultRecoveryLimits: RecoveryLimits = { chunkRows: 500, maxDue: 1_000, waitMs: 1_000 };

const columns = `id, webhook_id AS "webhookId", from_at AS "from", until_at AS "until", states, estado, total, resent,
  created_at AS "createdAt", finished_at AS "finishedAt"`;

/**
 * SQL condition for the deliveries of a recovery. Parameters: $1 webhook, $2 from, $3 until, $4 states, $5 creation
 * time of the recovery. Tests are left out. Deliveries that ended after the recovery was created are left out too.
 * Otherwise the recovery would send its own deliveries again.
 */
const recovered = `webhook_id = $1 AND created_at BETWEEN $2 AND $3 AND estado = ANY($4) AND NOT is_test
  AND (finished_at IS NULL OR finished_at <= $5)`;

/**
 * Counts the deliveries and stores the recovery; `advanceRecovery` sends the deliveries. If the process dies after the
 * commit, nothing is lost. If the answer is lost, a repeat creates a second recovery. The second one skips the
 * deliveries that the first one made pending, unless `states` includes `pendiente`.
 * @returns null if the webhook already has `maxRunningRecoveries` running recoveries
 */
export function createRecovery(pool: Pool, webhookId: string, wanted: NewRecovery): Promise<Recovery | null> {
  return inTransaction(pool, (client) => createRecoveryIn(client, webhookId, wanted));
}

/** Does the same in the caller's transaction. */
export async function createRecoveryIn(
  client: PoolClient,
  webhookId: string,
  wanted: NewRecovery,
): Promise<Recovery | null> {
  await client.query('SELECT 1 FROM webhook WHERE id = $1 FOR NO KEY UPDATE', [webhookId]);
  const standing = await client.query<{ running: number; now: string; until: string }>(
    `SELECT count(*) AS running, now()::text AS now,
       coalesce($2::timestamptz - interval '1 microsecond', now())::text AS until
     FROM recovery WHERE webhook_id = $1 AND estado = 'en_curso'`,
    [webhookId, wanted.before],
  );
  const { running, now, until } = standing.rows[0]!;
  if (!wanted.isSimulated && running >= maxRunningRecoveries) return null;
  const id = `re_${randomBytes(16).toString('hex')}`;
  const { rows } = await client.query<Recovery>(
    `INSERT INTO recovery (id, webhook_id, from_at, until_at, states, created_at, estado, finished_at, total)
     SELECT $6, $1, $2::timestamptz, $3::timestamptz, $4::text[], $5::timestamptz, $7::text,
       CASE WHEN $7 = 'simulada' THEN now() END, (SELECT count(*) FROM delivery WHERE ${recovered})
     RETURNING ${columns}`,
    [webhookId, wanted.from, until, wanted.states, now, id, wanted.isSimulated ? 'simulada' : 'en_curso'],
  );
  return rows[0]!;
}

/** Returns the last recoveries of a webhook, or of all, those that run first. Mere counts (`simulada`) are left out. */
export async function listLastRecoveries(pool: Pool, webhookId: string | null, limit: number): Promise<Recovery[]> {
  const { rows } = await pool.query<Recovery>(
    `SELECT ${columns} FROM recovery WHERE estado <> 'simulada' AND ($1::text IS NULL OR webhook_id = $1)
     ORDER BY estado = 'en_curso' DESC, created_at DESC, id LIMIT $2`,
    [webhookId, limit],
  );
  return rows;
}

export async function readRecovery(pool: Pool, webhookId: string, id: string): Promise<Recovery | null> {
  const { rows } = await pool.query<Recovery>(`SELECT ${columns} FROM recovery WHERE webhook_id = $1 AND id = $2`, [
    webhookId,
    id,
  ]);
  return rows[0] ?? null;
}

/** Returns a webhook's recoveries, also those that only counted, the newest first. */
export async function listRecoveries(pool: Pool, webhookId: string, limit: number): Promise<Recovery[]> {
  const { rows } = await pool.query<Recovery>(
    `SELECT ${columns} FROM recovery WHERE webhook_id = $1 ORDER BY created_at DESC, id LIMIT $2`,
    [webhookId, limit],
  );
  return rows;
}

/**
 * Returns how many of the counted deliveries an ended recovery did not send. Their state had changed, or a correction
 * had taken them back. `resent` can exceed `total`, because a delivery that was in flight or held during the count may
 * have been sent too.
 */
export function leftOut({ total, resent }: Pick<Recovery, 'total' | 'resent'>): number {
  return Math.max(0, total - resent);
}

/**
 * Stops a recovery. Deliveries that it made due before are still sent. A repeat changes nothing. Returns false if the
 * webhook has no such recovery.
 */
export async function cancelRecovery(database: Queryable, webhookId: string, id: string): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE recovery SET finished_at = CASE WHEN estado = 'en_curso' THEN now() ELSE finished_at END,
       estado = CASE WHEN estado = 'en_curso' THEN 'cancelada' ELSE estado END
     WHERE webhook_id = $1 AND id = $2`,
    [webhookId, id],
  );
  return rowCount === 1;
}

/** A recovery that runs. Its times are text, because a Date would lose the microseconds by which deliveries differ. */
interface RunningRecovery {
  id: string;
  webhook_id: string;
  from_at: string;
  until_at: string;
  states: RecoverableState[];
  created_at: string;
  after_at: string;
  after_id: string;
}

/**
 * Makes one chunk of a recovery's deliveries due. Takes the recovery that has waited longest and that no other process
 * works on. The same transaction stores the progress. If the process dies, the next call continues from there.
 * @returns null if no recovery is ready; else `wake` is the webhook to wake, or null if none must be woken
 */
export function advanceRecovery(pool: Pool, limits: RecoveryLimits): Promise<{ wake: string | null } | null> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<RunningRecovery>(
      `SELECT id, webhook_id, from_at::text, until_at::text, states, created_at::text,
         coalesce(after_at, '-infinity')::text AS after_at, coalesce(after_id, '') AS after_id
       FROM recovery WHERE estado = 'en_curso' AND next_at <= now() ORDER BY next_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
    );
    const recovery = rows[0];
    if (recovery === undefined) return null;
    const webhook = await client.query<{ estado: 'activo' | 'pausado'; deleted: boolean }>(
      'SELECT estado, deleted_at IS NOT NULL AS deleted FROM webhook WHERE id = $1 FOR SHARE',
      [recovery.webhook_id],
    );
    const { estado, deleted } = webhook.rows[0]!;
    if (deleted) return finish(client, recovery, 'cancelada');
    if (await hasEnoughDue(client, recovery, limits.maxDue)) {
      await client.query('UPDATE recovery SET next_at = now() + make_interval(secs => $2) WHERE id = $1', [
        recovery.id,
        limits.waitMs / 1_000,
      ]);
      return { wake: null };
    }
    return resendChunk(client, recovery, estado === 'pausado', limits.chunkRows);
  });
}

async function hasEnoughDue(client: PoolClient, { webhook_id }: RunningRecovery, maxDue: number): Promise<boolean> {
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*) FROM (
       SELECT FROM delivery WHERE webhook_id = $1 AND estado = 'pendiente' AND next_due_at <= now()
         AND day >= (SELECT open_since FROM webhook_work WHERE webhook_id = $1) LIMIT $2) AS due`,
    [webhook_id, maxDue],
  );
  return rows[0]!.count >= maxDue;
}

async function resendChunk(
  client: PoolClient,
  recovery: RunningRecovery,
  paused: boolean,
  chunkRows: number,
): Promise<{ wake: string | null }> {
  const { webhook_id, from_at, until_at, states, created_at, after_at, after_id } = recovery;
  const { rows } = await client.query<{ day: string; id: string; created_at: string }>(
    `SELECT day, id, created_at::text FROM delivery WHERE ${recovered} AND (created_at, id) > ($6, $7)
     ORDER BY delivery.created_at, id LIMIT $8`,
    [webhook_id, from_at, until_at, states, created_at, after_at, after_id, chunkRows],
  );
  const last = rows.at(-1);
  if (last === undefined) return finish(client, recovery, 'terminada');
  const days = [...new Set(rows.map(({ day }) => day))].sort();
  await raiseWork(client, [webhook_id], days[0]!);
  const made = await makeDue(client, { days, ids: rows.map(({ id }) => id), paused }, states);
  await client.query(
    'UPDATE recovery SET resent = resent + $2, after_at = $3, after_id = $4, next_at = now() WHERE id = $1',
    [recovery.id, made.size, last.created_at, last.id],
  );
  return { wake: paused ? null : webhook_id };
}

async function finish(
  client: PoolClient,
  { id }: RunningRecovery,
  estado: 'terminada' | 'cancelada',
): Promise<{ wake: null }> {
  await client.query('UPDATE recovery SET estado = $2, finished_at = now() WHERE id = $1', [id, estado]);
  return { wake: null };
}

const lookEveryMs = 1_000;

/**
 * Looks for recoveries every second, and works on them chunk by chunk until none is ready. Any number of processes may
 * do so, because the transaction of a chunk locks its recovery. Returns a function that stops the work and waits for
 * the running chunk.
 * @param wake wakes a webhook; if it fails, the worker's sweeper finds the webhook later
 */
export function startRecovering(
  pool: Pool,
  wake: (webhookId: string) => Promise<void>,
  log: Logger,
): () => Promise<void> {
  return startRepeating('recoveries', lookEveryMs, log, async (stop) => {
    while (!stop.aborted) {
      const advanced = await advanceRecovery(pool, defaultRecoveryLimits);
      if (advanced === null) return;
      if (advanced.wake !== null) await wake(advanced.wake);
    }
  });
}
