import { inTransaction, type Pool, type PoolClient } from '../runtime/postgres.ts';
import { type PauseCause, writeOwnerNotice } from './owner-notices.ts';
import { lockWork, raiseWork } from './work.ts';

/*
 * Every function that changes a webhook's state locks first the webhook's row, then its row in webhook_work, and then
 * its deliveries. Functions that write deliveries (watch/events.ts, results.ts) lock the webhook's row FOR SHARE. So a
 * pause either sees all deliveries that such a function wrote, or is committed before the function reads the webhook.
 */

/**
 * Pauses the webhook and holds its pending deliveries, except tests, which a paused webhook still gets. Attempts in
 * flight are not interrupted. Returns false if the webhook is already paused or deleted.
 */
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
  /**
   * False if the webhook does not exist, was not paused, or must stay paused because the plan does not include
   * watching.
   */
  resumed: boolean;
  released: number;
}

/**
 * Resumes a paused webhook. All its held deliveries become due at once, and their retry schedules start anew. The
 * caller then wakes the webhook. If the process dies before the wake-up, the worker's sweeper (`overdueWebhooks`) wakes
 * the webhook. A repeat of the call releases nothing.
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
 * Marks the webhook deleted and cancels its open deliveries, also those in flight. Otherwise a delivery whose worker
 * dies would stay in flight for ever, because nobody claims deliveries of a deleted webhook. Running attempts are not
 * interrupted. A cancelled delivery keeps its lease token, so the success of a running attempt is still recorded
 * (results.ts). Returns false if the account has no such webhook.
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
 * Pauses or resumes an account's webhooks in the transaction that changes the account's plan. A plan without watching
 * pauses them, and they hold new deliveries. A plan with watching resumes the webhooks that only the old plan had
 * paused. A repeat changes nothing. The caller need not wake the webhooks, because the worker's sweeper finds their
 * deliveries.
 * @param watches whether the new plan includes watching
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
 * Discards deliveries that were held for more than `heldDays` because of the plan. Returns how many. The customer can
 * still send a discarded delivery again by hand. Each webhook is a transaction of its own. A repeat discards nothing
 * more.
 */
export async function discardHeldByPlan(pool: Pool, heldDays: number, stop?: AbortSignal): Promise<number> {
  const { rows } = await pool.query<{ id: string; before: Date }>(
    `SELECT id, now() - make_interval(days => $1) AS before FROM webhook
     WHERE plan_held_since < now() - make_interval(days => $1) AND deleted_at IS NULL ORDER BY id`,
    [heldDays],
  );
  let discarded = 0;
  for (const { id, before } of rows) {
    if (stop?.aborted) break;
    discarded += await discardHeld(pool, id, before, before);
  }
  return discarded;
}

/**
 * Discards the deliveries that a paused webhook holds. Returns how many. If the process dies before the caller resumes
 * the webhook, the webhook stays paused, and the call can be repeated.
 * @param before if not null, only deliveries that were created before this time are discarded
 * @param heldBefore if given, nothing is discarded unless the plan paused the webhook before this time. This is checked
 *   while the webhook is locked. Otherwise a change to a plan with watching could end that pause after the check.
 */
export function discardHeld(pool: Pool, webhookId: string, before: Date | null, heldBefore?: Date): Promise<number> {
  return inTransaction(pool, async (client) => {
    const paused = await client.query(
      `SELECT 1 FROM webhook WHERE id = $1 AND estado = 'pausado' AND deleted_at IS NULL
         AND ($2::timestamptz IS NULL OR plan_held_since < $2) FOR NO KEY UPDATE`,
      [webhookId, heldBefore ?? null],
    );
    if (paused.rowCount === 0) return 0;
    const { rowCount } = await client.query(
      `UPDATE delivery SET estado = 'descartada', finished_at = now()
       WHERE webhook_id = $1 AND estado = 'retenida' AND ($2::timestamptz IS NULL OR created_at < $2)`,
      [webhookId, before],
    );
    return rowCount ?? 0;
  });
}
