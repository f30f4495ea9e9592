import { inTransaction, type Pool, type PoolClient } from '../runtime/postgres.ts';
import { type PauseCause, writeOwnerNotice } from './owner-notices.ts';
import { lockWork, raiseWork } from './work.ts';

/*
 * Everything that changes a webhook's state locks its row first, then its work row, then its deliveries. Writers of
 * deliveries (events.ts, record.ts) hold the webhook's row FOR SHARE, so a pause sees all of theirs or comes before them.
 */

/** Stops sending and keeps what is pending. Attempts under way end by themselves. False: it was paused or deleted already. */
export function pauseWebhook(pool: Pool, webhookId: string, cause: PauseCause): Promise<boolean> {
  return inTransaction(pool, (client) => pauseIn(client, webhookId, cause));
}

export async function pauseIn(client: PoolClient, webhookId: string, cause: PauseCause): Promise<boolean> {
  const { rows } = await client.query<{ fallos_consecutivos: number }>(
    `UPDATE webhook SET estado = 'pausado', pausado_por = NULLIF($2, 'plan')
     WHERE id = $1 AND estado = 'activo' AND deleted_at IS NULL RETURNING fallos_consecutivos`,
    [webhookId, cause],
  );
  if (rows[0] === undefined) return false;
  await lockWork(client, [webhookId]);
  await client.query(
    `UPDATE delivery SET estado = 'retenida', next_due_at = NULL
     WHERE webhook_id = $1 AND estado = 'pendiente' AND NOT is_test`,
    [webhookId],
  );
  const { fallos_consecutivos } = rows[0];
  await writeOwnerNotice(client, webhookId, { kind: 'webhook.pausado', detail: { causa: cause, fallos_consecutivos } });
  return true;
}

export interface Resumed {
  /** False: there is no such webhook, it was not paused, or the account's plan does not watch. */
  resumed: boolean;
  /** Held deliveries that are due now. */
  released: number;
}

/**
 * Takes up sending again: the customer says that the endpoint is fine. What was held is due at once, in order, each
 * with its retry schedule from the start. The caller then wakes the webhook (wake.ts); dying before that leaves the
 * work to the sweeper. Repeating it releases nothing twice.
 */
export function resumeWebhook(pool: Pool, webhookId: string): Promise<Resumed> {
  return inTransaction(pool, (client) => resumeIn(client, webhookId));
}

async function resumeIn(client: PoolClient, webhookId: string): Promise<Resumed> {
  const { rowCount } = await client.query(
    `UPDATE webhook SET estado = 'activo', pausado_por = NULL, fallos_consecutivos = 0, primer_fallo_at = NULL
     WHERE id = $1 AND estado = 'pausado' AND plan_held_since IS NULL AND deleted_at IS NULL`,
    [webhookId],
  );
  if (rowCount !== 1) return { resumed: false, released: 0 };
  const oldest = await client.query<{ day: string }>(
    `SELECT coalesce(min(day), current_date) AS day FROM delivery WHERE webhook_id = $1 AND estado = 'retenida'`,
    [webhookId],
  );
  await raiseWork(client, [webhookId], oldest.rows[0]!.day);
  const released = await client.query(
    `UPDATE delivery SET estado = 'pendiente', next_due_at = now(), fallos_del_ciclo = 0
     WHERE webhook_id = $1 AND estado = 'retenida'`,
    [webhookId],
  );
  const liberadas = released.rowCount ?? 0;
  await writeOwnerNotice(client, webhookId, { kind: 'webhook.reanudado', detail: { liberadas } });
  return { resumed: true, released: liberadas };
}

/**
 * Marks the webhook deleted and cancels all that is open. An attempt under way ends by itself, and is told if the receiver took
 * it: it keeps its lease's token for that (record.ts). If its worker died nobody would end it, now or ever. False: not there.
 */
export async function deleteWebhookIn(client: PoolClient, accountId: number, webhookId: string): Promise<boolean> {
  const { rowCount } = await client.query(
    'UPDATE webhook SET deleted_at = now() WHERE id = $1 AND account_id = $2 AND deleted_at IS NULL',
    [webhookId, accountId],
  );
  if (rowCount !== 1) return false;
  await lockWork(client, [webhookId]);
  await client.query(
    `UPDATE delivery SET estado = 'cancelada', next_due_at = NULL, finished_at = now()
     WHERE webhook_id = $1 AND estado IN ('pendiente', 'en_curso', 'retenida')`,
    [webhookId],
  );
  return true;
}

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
