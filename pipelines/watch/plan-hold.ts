import { inTransaction, type Pool, type PoolClient } from '../runtime/postgres.ts';
import { pauseIn, resumeIn } from './deliveries.ts';

/**
 * Brings an account's webhooks in line with whether its plan watches, in the transaction that changes the plan. Without it
 * they are paused and hold what comes; with it again those go on that nothing else had paused. Repeatable. What is
 * released needs no wake-up: the worker's sweeper finds it.
 */
export async function followPlan(client: PoolClient, accountId: number, watches: boolean): Promise<void> {
  const { rows } = await client.query<{ id: string; estado: string; pausado_por: string | null }>(
    `SELECT id, estado, pausado_por FROM webhook
     WHERE account_id = $1 AND deleted_at IS NULL AND (plan_held_since IS NULL) = NOT $2 ORDER BY id FOR NO KEY UPDATE`,
    [accountId, watches],
  );
  for (const { id, estado, pausado_por } of rows) {
    if (!watches && estado === 'activo') await pauseIn(client, id, 'plan');
    await client.query('UPDATE webhook SET plan_held_since = CASE WHEN $2 THEN NULL ELSE now() END WHERE id = $1', [
      id,
      watches,
    ]);
    if (watches && pausado_por === null) await resumeIn(client, id);
  }
}

/**
 * Gives up what has been held for longer than `heldDays` for accounts whose plan does not watch; it can still be sent by
 * hand. A webhook at a time; repeatable. Returns how many deliveries.
 */
export async function discardHeldByPlan(pool: Pool, heldDays: number, stop?: AbortSignal): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT id FROM webhook WHERE plan_held_since < now() - make_interval(days => $1) AND deleted_at IS NULL ORDER BY id`,
    [heldDays],
  );
  let discarded = 0;
  for (const { id } of rows) {
    if (stop?.aborted) break;
    discarded += await inTransaction(pool, (client) => discardOf(client, id, heldDays));
  }
  return discarded;
}

async function discardOf(client: PoolClient, webhookId: string, heldDays: number): Promise<number> {
  // The plan may have come back since the webhook was read.
  const held = await client.query(
    `SELECT 1 FROM webhook WHERE id = $1 AND plan_held_since < now() - make_interval(days => $2) FOR NO KEY UPDATE`,
    [webhookId, heldDays],
  );
  if (held.rowCount === 0) return 0;
  const { rowCount } = await client.query(
    `UPDATE delivery SET estado = 'descartada', finished_at = now()
     WHERE webhook_id = $1 AND estado = 'retenida' AND created_at < now() - make_interval(days => $2)`,
    [webhookId, heldDays],
  );
  return rowCount ?? 0;
}
