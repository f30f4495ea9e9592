import { inTransaction, type Pool } from '../runtime/postgres.ts';
import { dayText, keptUnder } from './claim.ts';
import { type PauseCause, writeOwnerNotice } from './owner-notices.ts';
import { pauseIn } from './pauses.ts';

export interface Health {
  failuresInARow: number;
  firstFailureAt: Date | null;
  timeoutsInARow: number;
}

/** The webhook's state when the outcomes of a round of attempts are judged. It is read while the row is locked. */
export interface Standing {
  health: Health;
  /** The current URL. Answers of an earlier URL do not count for the webhook's health. */
  url: string;
  /** Time of PostgreSQL's clock, which all workers share. The wrong clock of one worker must not pause a webhook. */
  now: Date;
}

export interface HealthVerdict {
  health: Health;
  lastSuccessAt: Date | null;
  pause: PauseCause | null;
  /** How far the failures have gone towards a pause, in percent; null if the owner needs no warning. */
  warning: 50 | 90 | null;
}

/**
 * Adds the outcomes of a round of attempts to the webhook's health, and pauses the webhook if `judge` decides so. One
 * transaction locks the webhook's row. Otherwise two rounds, or a round and a resume, could lose each other's change. A
 * pause holds the pending deliveries and writes the owner notice in the same transaction.
 * @returns the cause if this call paused the webhook, else null
 */
export function updateHealth(
  pool: Pool,
  webhookId: string,
  judge: (standing: Standing) => HealthVerdict,
): Promise<PauseCause | null> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<Health & Omit<Standing, 'health'> & { estado: 'activo' | 'pausado' }>(
      `SELECT url, clock_timestamp() AS now, estado, fallos_consecutivos AS "failuresInARow",
         primer_fallo_at AS "firstFailureAt", agotados_consecutivos AS "timeoutsInARow"
       FROM webhook WHERE id = $1 AND deleted_at IS NULL FOR UPDATE`,
      [webhookId],
    );
    if (rows[0] === undefined) return null;
    const { url, now, estado, ...stored } = rows[0];
    const { health, lastSuccessAt, pause, warning } = judge({ health: stored, url, now });
    await client.query(
      `UPDATE webhook SET fallos_consecutivos = $2, primer_fallo_at = $3, agotados_consecutivos = $4,
         ultima_entrega_at = GREATEST(ultima_entrega_at, $5) WHERE id = $1`,
      [webhookId, health.failuresInARow, health.firstFailureAt, health.timeoutsInARow, lastSuccessAt],
    );
    if (pause !== null) return (await pauseIn(client, webhookId, pause)) ? pause : null;
    // Attempts that were in flight at a pause may still fail afterwards, so the webhook may be paused already. A
    // warning that a pause is near would then be wrong.
    if (warning !== null && health.firstFailureAt !== null && estado === 'activo') {
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

export interface AttemptResult {
  day: string;
  id: string;
  leaseToken: string;
  attempt: number;
  isTest: boolean;
  durationMs: number;
  success: boolean;
  httpStatus: number | null;
  failure: string | null;
  response: Buffer | null;
  responseCut: boolean;
  /**
   * Milliseconds from the failure to the next attempt. Null after a success, for a test, and when the retry schedule
   * has ended.
   */
  retryInMs: number | null;
}

/**
 * Writes the results, those of each day in one round trip, all or none. A delivery changes only if it still has the
 * lease under which it was sent. Its attempt is updated in any case. If the process dies before a commit, the attempts
 * of that day keep the result `resultado_desconocido`, and the receiver gets the deliveries again. A repeat changes
 * nothing.
 * @returns how many deliveries changed
 */
export async function recordResults(pool: Pool, webhookId: string, results: readonly AttemptResult[]): Promise<number> {
  let updated = 0;
  for (const day of new Set(results.map((result) => result.day))) {
    const ofDay = results.filter((result) => result.day === day);
    updated += await recordDay(pool, webhookId, day, ofDay);
  }
  return updated;
}

async function recordDay(
  pool: Pool,
  webhookId: string,
  day: string,
  results: readonly AttemptResult[],
): Promise<number> {
  const { rows } = await pool.query<{ updated: number }>({
    name: keptUnder('record-results', day),
    text: recordSql(day),
    values: [
      webhookId,
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
    ],
  });
  return rows[0]!.updated;
}

// `FOR SHARE` makes a pause or a deletion of the webhook wait for the commit. Otherwise a delivery that becomes pending
// here could escape the pause, which holds pending deliveries, or the deletion, which cancels them. If this statement
// itself has to wait for the lock, it then reads the webhook's new state.
//
// The statement leaves PostgreSQL no choice of plan, because a plan that is kept from a time when the partition was
// nearly empty would later read the whole partition for each call:
// - The day is a literal, so PostgreSQL plans for one partition.
// - Deliveries and attempts are found by their keys. BETWEEN one value and the same value is an equality that allows no
//   hash join or merge join, and the lease token is compared by IS NOT DISTINCT FROM for the same reason.
// - For a LIMIT that it does not know, PostgreSQL expects few rows. Without this LIMIT, a plan for the given number of
//   results would seem cheaper than the kept plan, so PostgreSQL would plan each call, for as long as the call itself.
// A delivery has a lease token while it is en_curso, and also if its webhook was deleted during the attempt.
const recordSql = (day: string) => `
  WITH hook AS (
    SELECT CASE WHEN deleted_at IS NOT NULL THEN 'cancelada' WHEN estado = 'pausado' THEN 'retenida' ELSE 'pendiente' END AS failed
    FROM webhook WHERE id = $1 FOR SHARE
  ), outcome AS (
    SELECT r.*, CASE WHEN success THEN 'entregada' WHEN hook.failed <> 'cancelada' AND retry_ms IS NULL THEN 'agotada'
      ELSE hook.failed END AS estado
    FROM hook, unnest($2::text[], $3::text[], $4::boolean[], $5::bigint[], $6::integer[], $7::integer[], $8::integer[],
      $9::text[], $10::bytea[], $11::boolean[])
      AS r (id, token, success, retry_ms, number, duration_ms, http_status, failure, response, response_cut)
    LIMIT cardinality($2::text[])
  ), updated AS (
    UPDATE delivery d SET
      estado = o.estado,
      fallos_del_ciclo = d.fallos_del_ciclo + CASE WHEN o.estado = 'entregada' THEN 0 ELSE 1 END,
      next_due_at = CASE WHEN o.estado = 'pendiente' THEN clock_timestamp() + make_interval(secs => o.retry_ms / 1000.0) END,
      finished_at = CASE WHEN o.estado IN ('entregada', 'agotada', 'cancelada') THEN now() END,
      lease_token = NULL, lease_until = NULL
    FROM outcome o
    WHERE d.day = ${dayText(day)} AND d.id BETWEEN o.id AND o.id AND d.lease_token IS NOT DISTINCT FROM o.token
    RETURNING 1
  ), kept AS (
    UPDATE attempt a SET duration_ms = o.duration_ms, http_status = o.http_status, failure = o.failure, response = o.response,
      response_cut = o.response_cut
    FROM outcome o
    WHERE a.day = ${dayText(day)} AND a.delivery_id BETWEEN o.id AND o.id AND a.number BETWEEN o.number AND o.number
  )
  SELECT count(*) AS updated FROM updated`;
