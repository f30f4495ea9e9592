import { inTransaction, type Pool } from '../../deploy/runtime/postgres.ts';

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
  /** After a failure: wait before the next attempt; null: the schedule is used up. */
  retryInMs: number | null;
}

/**
 * Writes results in one transaction. A delivery changes only if its lease is still the one that was sent under; the
 * attempt's row is written in any case, since the attempt did happen. Dying before the commit leaves "outcome unknown",
 * and the receiver gets the same delivery again.
 * @returns how many deliveries took their result
 */
export function recordResults(pool: Pool, webhookId: string, results: readonly AttemptResult[]): Promise<number> {
  return inTransaction(pool, async (client) => {
    // Held until the commit against a pause or deletion: else its sweep over pending deliveries could miss these.
    const webhook = await client.query<{ estado: string; deleted: boolean }>(
      'SELECT estado, deleted_at IS NOT NULL AS deleted FROM webhook WHERE id = $1 FOR SHARE',
      [webhookId],
    );
    const { estado, deleted } = webhook.rows[0] ?? { estado: 'activo', deleted: true };
    const afterFailure = deleted ? 'cancelada' : estado === 'pausado' ? 'retenida' : 'pendiente';
    const updated = await client.query(updateSql, [
      results.map((result) => result.day),
      results.map((result) => result.id),
      results.map((result) => result.leaseToken),
      results.map((result) => result.success),
      results.map((result) => result.retryInMs),
      afterFailure,
    ]);
    await client.query(attemptSql, [
      results.map((result) => result.day),
      results.map((result) => result.id),
      results.map((result) => result.attempt),
      results.map((result) => result.durationMs),
      results.map((result) => result.httpStatus),
      results.map((result) => result.failure),
      results.map((result) => result.response),
    ]);
    return updated.rowCount ?? 0;
  });
}

// The days are named once more as a list, so that PostgreSQL plans over these partitions alone.
const updateSql = `
  WITH result AS (
    SELECT day, id, token, retry_ms,
      CASE WHEN success THEN 'entregada'
        WHEN $6::text <> 'cancelada' AND retry_ms IS NULL THEN 'agotada'
        ELSE $6::text END AS estado
    FROM unnest($1::date[], $2::text[], $3::text[], $4::boolean[], $5::bigint[]) AS r (day, id, token, success, retry_ms)
  )
  UPDATE delivery d SET
    estado = r.estado,
    fallos_del_ciclo = d.fallos_del_ciclo + CASE WHEN r.estado = 'entregada' THEN 0 ELSE 1 END,
    next_due_at = CASE WHEN r.estado = 'pendiente' THEN clock_timestamp() + make_interval(secs => r.retry_ms / 1000.0) END,
    finished_at = CASE WHEN r.estado IN ('entregada', 'agotada', 'cancelada') THEN now() END,
    lease_token = NULL, lease_until = NULL
  FROM result r WHERE d.day = ANY ($1::date[]) AND d.day = r.day AND d.id = r.id AND d.lease_token = r.token AND d.estado = 'en_curso'`;

const attemptSql = `
  UPDATE attempt a SET duration_ms = r.duration_ms, http_status = r.http_status, failure = r.failure, response = r.response
  FROM unnest($1::date[], $2::text[], $3::integer[], $4::integer[], $5::integer[], $6::text[], $7::bytea[])
    AS r (day, id, number, duration_ms, http_status, failure, response)
  WHERE a.day = ANY ($1::date[]) AND a.day = r.day AND a.delivery_id = r.id AND a.number = r.number`;
