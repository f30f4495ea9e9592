import { randomBytes } from 'node:crypto';
import type { DeliveryState } from '../../schemas/http/events.ts';
import { limaDay, limaTime } from '../../schemas/lima-time.ts';
import { inTransaction, type Pool, type PoolClient } from '../runtime/postgres.ts';
import { dayOfDelivery, deliveryId } from './delivery-log.ts';
import { raiseWork } from './work.ts';

/**
 * Writes a test of the endpoint: an event `ping`, which no history shows, and its delivery. The delivery is due now,
 * even if the webhook is paused. The caller then wakes the webhook. If the process dies before the wake-up, the
 * worker's sweeper wakes the webhook. A repeat of the call writes a second test.
 * @returns the delivery's id; null if the webhook was deleted
 */
export async function writePing(pool: Pool, accountId: number, webhookId: string, at: Date): Promise<string | null> {
  const day = limaDay(at);
  await pool.query('SELECT ensure_event_day($1)', [day]);
  const eventId = `ev_${randomBytes(16).toString('base64url')}`;
  const id = deliveryId(day, eventId, webhookId);
  return inTransaction(pool, async (client) => {
    const webhook = await client.query(
      'SELECT 1 FROM webhook WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR SHARE',
      [accountId, webhookId],
    );
    if (webhook.rowCount === 0) return null;
    await raiseWork(client, [webhookId], day);
    const payload = { id: eventId, evento: 'ping', ocurrido_en: limaTime(at), datos: null, watchlist: null };
    await client.query(
      `INSERT INTO event (day, id, account_id, position, list_id, evento, register, edition, ruc, fecha_dato, ocurrido_en, payload)
       VALUES ($1, $2, $3, 0, 0, 'ping', '', 0, '', $1, $4, $5)`,
      [day, eventId, accountId, at, JSON.stringify(payload)],
    );
    await client.query(
      `INSERT INTO delivery (day, id, event_id, webhook_id, account_id, ruc, position, next_due_at, is_test)
       VALUES ($1, $2, $3, $4, $5, $2, 0, now(), true)`,
      [day, id, eventId, webhookId, accountId],
    );
    return id;
  });
}

export type Resent = { ok: true; webhookId: string; estado: DeliveryState } | NotResent;

export type NotResent =
  | { ok: false; problem: 'not_found' }
  | { ok: false; problem: 'cancelled' }
  /** `by` is the edition that corrected the change in the delivery. */
  | { ok: false; problem: 'taken_back'; by: { edition: number; fechaDato: string } };

/**
 * Makes a delivery due now under its old id. On a paused webhook, the delivery is held instead. A delivery in flight
 * stays as it is. The call may be repeated.
 * - A scheduled retry takes place now, and the retry schedule goes on. A schedule that had ended starts anew.
 * - If the result is `ok`, the caller wakes the webhook. If the process dies before the wake-up, the worker's sweeper
 *   wakes the webhook.
 * - A delivery that a correction took back is refused, even if it was attempted before. Otherwise the receiver could
 *   get the wrong message after the correction.
 * - Deliveries that were cancelled with their webhook are refused.
 * @param also runs in the same transaction at its end
 */
export async function resendDelivery(
  pool: Pool,
  accountId: number,
  id: string,
  also: (client: PoolClient, resent: Resent) => Promise<void> = async () => {},
): Promise<Resent> {
  const day = await dayOfDelivery(pool, id);
  if (day === null) return { ok: false, problem: 'not_found' };
  return inTransaction(pool, async (client): Promise<Resent> => {
    const resent = await resendIn(client, accountId, day, id);
    await also(client, resent);
    return resent;
  });
}

async function resendIn(client: PoolClient, accountId: number, day: string, id: string): Promise<Resent> {
  const { rows } = await client.query<{ webhook_id: string; estado: 'activo' | 'pausado'; deleted: boolean }>(
    `SELECT w.id AS webhook_id, w.estado, w.deleted_at IS NOT NULL AS deleted
       FROM webhook w JOIN delivery d ON d.webhook_id = w.id
       WHERE d.day = $1 AND d.id = $2 AND d.account_id = $3 FOR SHARE OF w`,
    [day, id, accountId],
  );
  const webhook = rows[0];
  if (webhook === undefined) return { ok: false, problem: 'not_found' };
  if (webhook.deleted) return { ok: false, problem: 'cancelled' };
  await raiseWork(client, [webhook.webhook_id], day);
  const made = await makeDue(client, { days: [day], ids: [id], paused: webhook.estado === 'pausado' }, resendable);
  const estado = made.get(id);
  return estado === undefined
    ? leftAsItIs(client, webhook.webhook_id, day, id)
    : { ok: true, webhookId: webhook.webhook_id, estado };
}

/** Finds the account of a delivery for operators, who know only its id. Returns null if the id is unknown. */
export async function accountOfDelivery(pool: Pool, id: string): Promise<number | null> {
  const day = await dayOfDelivery(pool, id);
  const { rows } = await pool.query<{ account_id: number }>(
    'SELECT account_id FROM delivery WHERE day = $1 AND id = $2',
    [day, id],
  );
  return rows[0]?.account_id ?? null;
}

const resendable: readonly DeliveryState[] = ['pendiente', 'entregada', 'agotada', 'retenida', 'descartada'];

async function leftAsItIs(client: PoolClient, webhookId: string, day: string, id: string): Promise<Resent> {
  const { rows } = await client.query<{ estado: DeliveryState; edition: number | null; fecha_dato: string }>(
    `SELECT d.estado, e.taken_back_by AS edition, c.fecha_dato
     FROM delivery d LEFT JOIN event e ON e.day = $1 AND e.id = d.event_id
     LEFT JOIN edition c ON c.register = e.register AND c.number = e.taken_back_by
     WHERE d.day = $1 AND d.id = $2`,
    [day, id],
  );
  // The retention may have removed the delivery after it was read.
  if (rows[0] === undefined) return { ok: false, problem: 'not_found' };
  const { estado, edition, fecha_dato } = rows[0];
  if (edition !== null) return { ok: false, problem: 'taken_back', by: { edition, fechaDato: fecha_dato } };
  if (estado === 'cancelada') return { ok: false, problem: 'cancelled' };
  return { ok: true, webhookId, estado };
}

/**
 * Makes the given deliveries due if they are in one of `states` and no correction took them back. If the webhook is
 * paused, only tests become due, and the other deliveries are held. The caller must have locked the webhook's row and
 * its row in webhook_work (README.md in this folder, rule 4). Otherwise a correction at this moment could be missed.
 * @returns the new states by delivery id
 */
export async function makeDue(
  client: PoolClient,
  { days, ids, paused }: { days: readonly string[]; ids: readonly string[]; paused: boolean },
  states: readonly DeliveryState[],
): Promise<Map<string, DeliveryState>> {
  const { rows } = await client.query<{ id: string; estado: DeliveryState }>(
    `UPDATE delivery SET
       estado = CASE WHEN $4 AND NOT is_test THEN 'retenida' ELSE 'pendiente' END,
       next_due_at = CASE WHEN $4 AND NOT is_test THEN NULL ELSE now() END,
       fallos_del_ciclo = CASE WHEN estado = 'pendiente' THEN fallos_del_ciclo ELSE 0 END,
       finished_at = NULL
     WHERE day = ANY($1::date[]) AND id = ANY($2) AND estado = ANY($3) AND NOT EXISTS (
       SELECT FROM event e WHERE e.day = ANY($1::date[]) AND e.day = delivery.day AND e.id = delivery.event_id
         AND e.taken_back_by IS NOT NULL)
     RETURNING id, estado`,
    [days, ids, states, paused],
  );
  return new Map(rows.map(({ id, estado }) => [id, estado]));
}
