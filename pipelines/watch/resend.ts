import { inTransaction, type Pool, type PoolClient } from '../../deploy/runtime/postgres.ts';
import type { DeliveryState } from '../../schemas/http/events.ts';
import { dayOfDelivery } from './delivery-log.ts';
import { raiseWork } from './work.ts';

export type Resent =
  | { ok: true; webhookId: string; estado: DeliveryState }
  | { ok: false; problem: 'not_found' | 'cancelled' };

/**
 * Makes a delivery due now, under the id it has. It is one row with one due time, so whatever was pending of it is not sent
 * besides; a success ends it. One whose schedule is over starts anew, one that waits for a retry only waits no longer.
 * Of a paused webhook it is held with the rest. One that is under way stays as it is. Repeatable.
 *
 * A cancelled one is not sent: a correction took back what it says, or its webhook was deleted. The caller then wakes the
 * webhook; dying before that leaves the work to the sweeper.
 */
export async function resendDelivery(pool: Pool, accountId: number, id: string): Promise<Resent> {
  const day = await dayOfDelivery(pool, id);
  if (day === null) return { ok: false, problem: 'not_found' };
  return inTransaction(pool, async (client): Promise<Resent> => {
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
    const estado = made.get(id) ?? (await stateOf(client, day, id));
    if (estado === 'cancelada') return { ok: false, problem: 'cancelled' };
    return { ok: true, webhookId: webhook.webhook_id, estado };
  });
}

/** For operators, who know a delivery by its id alone. null: there is none. */
export async function accountOfDelivery(pool: Pool, id: string): Promise<number | null> {
  const day = await dayOfDelivery(pool, id);
  const { rows } = await pool.query<{ account_id: number }>(
    'SELECT account_id FROM delivery WHERE day = $1 AND id = $2',
    [day, id],
  );
  return rows[0]?.account_id ?? null;
}

const resendable: readonly DeliveryState[] = ['pendiente', 'entregada', 'agotada', 'retenida', 'descartada'];

async function stateOf(client: PoolClient, day: string, id: string): Promise<DeliveryState> {
  const { rows } = await client.query<{ estado: DeliveryState }>(
    'SELECT estado FROM delivery WHERE day = $1 AND id = $2',
    [day, id],
  );
  return rows[0]!.estado;
}

/**
 * Makes those of the deliveries due that are in one of the states, in the caller's transaction, which holds the webhook's row
 * and its work row (README, rule 4). Tests are sent while it is paused too.
 * @returns the states that they are in now, by id
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
     WHERE day = ANY($1::date[]) AND id = ANY($2) AND estado = ANY($3) RETURNING id, estado`,
    [days, ids, states, paused],
  );
  return new Map(rows.map(({ id, estado }) => [id, estado]));
}
