import { inTransaction, type Pool } from '../runtime/postgres.ts';
import { dayText, keptUnder } from './claim.ts';
import { type PauseCause, writeOwnerNotice } from './owner-notices.ts';
import { pauseIn } from './pauses.ts';

/** What is stored with the webhook of how its attempts went. */
export interface StoredHealth {
  failuresInARow: number;
  firstFailureAt: Date | null;
  timeoutsInARow: number;
}

/** The webhook at the moment at which its outcomes are judged, under its lock. */
export interface Standing {
  health: StoredHealth;
  /** Where it points by now: what another URL answered says nothing of this one. */
  url: string;
  /** By PostgreSQL's clock, which all workers share: a worker's that goes wrong pauses nobody. */
  now: Date;
}

export interface HealthVerdict {
  health: StoredHealth;
  lastSuccessAt: Date | null;
  pause: PauseCause | null;
  /** Percent of the way to a pause that the owner should have been warned of by now. */
  warning: 50 | 90 | null;
}

interface HealthRow {
  url: string;
  now: Date;
  estado: 'activo' | 'pausado';
  fallos_consecutivos: number;
  primer_fallo_at: Date | null;
  agotados_consecutivos: number;
}

/**
 * Folds a round's outcomes into the webhook's health, under its lock: two rounds, or a round and a resume, never lose each
 * other's change. `judge` says what becomes of it. A pause holds what is pending, and the owner's notice of it or of a
 * warning is written, in the same transaction: once each.
 * @returns the cause if this call paused the webhook: once per pause, whoever else tries
 */
export function updateHealth(
  pool: Pool,
  webhookId: string,
  judge: (standing: Standing) => HealthVerdict,
): Promise<PauseCause | null> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<HealthRow>(
      `SELECT url, clock_timestamp() AS now, estado, fallos_consecutivos, primer_fallo_at, agotados_consecutivos FROM webhook
       WHERE id = $1 AND deleted_at IS NULL FOR UPDATE`,
      [webhookId],
    );
    const row = rows[0];
    if (row === undefined) return null;
    const stored = {
      failuresInARow: row.fallos_consecutivos,
      firstFailureAt: row.primer_fallo_at,
      timeoutsInARow: row.agotados_consecutivos,
    };
    const { health, lastSuccessAt, pause, warning } = judge({ health: stored, url: row.url, now: row.now });
    await client.query(
      `UPDATE webhook SET fallos_consecutivos = $2, primer_fallo_at = $3, agotados_consecutivos = $4,
         ultima_entrega_at = GREATEST(ultima_entrega_at, $5) WHERE id = $1`,
      [webhookId, health.failuresInARow, health.firstFailureAt, health.timeoutsInARow, lastSuccessAt],
    );
    if (pause !== null) return (await pauseIn(client, webhookId, pause)) ? pause : null;
    // What was under way when its owner paused it may fail still: no pause is to come that one would warn of.
    if (warning !== null && health.firstFailureAt !== null && row.estado === 'activo') {
      await writeOwnerNotice(client, webhookId, {
        kind: 'webhook.por_pausar',
        detail: {
          porcentaje: warning,
          fallos_consecutivos: health.failuresInARow,
          primer_fallo_en: health.firstFailureAt.toISOString(),
        },
      });
    }
    return null;
  });
}

/** How one attempt ended. */
export interface AttemptResult {
  day: string;
  id: string;
  leaseToken: string;
  attempt: number;
  isTest: boolean;
  durationMs: number;
  success: boolean;
  httpStatus: number | null;
  /** A class; null after a success. */
  failure: string | null;
  response: Buffer | null;
  /** The response is not all that was answered. */
  responseCut: boolean;
  /** After a failure: wait before the next attempt; null: the schedule is used up. */
  retryInMs: number | null;
}

/**
 * Writes results, all or none, in one exchange with the server. A delivery changes only if its lease is still the one that
 * was sent under; the attempt's row is written in any case, since the attempt did happen. Dying before the commit leaves
 * "outcome unknown", and the receiver gets the same delivery again.
 * @returns how many deliveries took their result
 */
export async function recordResults(pool: Pool, webhookId: string, results: readonly AttemptResult[]): Promise<number> {
  if (results.length === 0) return 0;
  const values = [
    webhookId,
    results.map((result) => result.day),
    results.map((result) => result.id),
    results.map((result) => result.leaseToken),
    results.map((result) => result.success),
    results.map((result) => result.retryInMs),
    results.map((result) => result.attempt),
    results.map((result) => result.durationMs),
    results.map((result) => result.httpStatus),
    results.map((result) => result.failure),
    results.map((result) => result.response),
    results.map((result) => result.responseCut),
  ];
  const since = results.map((result) => result.day).sort()[0]!;
  const { rows } = await pool.query<{ updated: number }>({
    name: keptUnder('record-results', since),
    text: recordSql(since),
    values,
  });
  return rows[0]!.updated;
}

// The webhook's row is held until the commit against a pause or deletion: else its sweep over pending deliveries could miss
// these. Whoever waited for it here sees what it became. The days are named once more, as a bound and as a list, so that
// PostgreSQL plans over these partitions alone. A delivery has a lease's token while it is en_curso, or was when its webhook
// was deleted; asking for the estado as well would bring in the index of open deliveries, which old statistics make look
// empty (claim.ts).
const recordSql = (since: string) => `
  WITH hook AS (
    SELECT CASE WHEN deleted_at IS NOT NULL THEN 'cancelada' WHEN estado = 'pausado' THEN 'retenida' ELSE 'pendiente' END AS failed
    FROM webhook WHERE id = $1 FOR SHARE
  ), outcome AS (
    SELECT r.*, CASE WHEN success THEN 'entregada' WHEN hook.failed <> 'cancelada' AND retry_ms IS NULL THEN 'agotada'
      ELSE hook.failed END AS estado
    FROM hook, unnest($2::date[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::integer[], $8::integer[],
      $9::integer[], $10::text[], $11::bytea[], $12::boolean[])
      AS r (day, id, token, success, retry_ms, number, duration_ms, http_status, failure, response, response_cut)
  ), updated AS (
    UPDATE delivery d SET
      estado = o.estado,
      fallos_del_ciclo = d.fallos_del_ciclo + CASE WHEN o.estado = 'entregada' THEN 0 ELSE 1 END,
      next_due_at = CASE WHEN o.estado = 'pendiente' THEN clock_timestamp() + make_interval(secs => o.retry_ms / 1000.0) END,
      finished_at = CASE WHEN o.estado IN ('entregada', 'agotada', 'cancelada') THEN now() END,
      lease_token = NULL, lease_until = NULL
    FROM outcome o
    WHERE d.day >= ${dayText(since)} AND d.day = ANY ($2::date[]) AND d.day = o.day AND d.id = o.id AND d.lease_token = o.token
    RETURNING 1
  ), kept AS (
    UPDATE attempt a SET duration_ms = o.duration_ms, http_status = o.http_status, failure = o.failure, response = o.response,
      response_cut = o.response_cut
    FROM outcome o
    WHERE a.day >= ${dayText(since)} AND a.day = ANY ($2::date[]) AND a.day = o.day AND a.delivery_id = o.id AND a.number = o.number
  )
  SELECT count(*) AS updated FROM updated`;
