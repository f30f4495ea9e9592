import { randomBytes } from 'node:crypto';
import { limaDay, limaTime } from '../../schemas/lima-time.ts';
import { inTransaction, type Pool } from '../runtime/postgres.ts';
import { deliveryId } from './payload.ts';
import { raiseWork } from './work.ts';

/**
 * Writes a test of the endpoint: an event `ping` that no history shows, and its delivery, due now whether the webhook is
 * paused or not. The caller then wakes the webhook; dying before that leaves the work to the sweeper. Not repeatable: each
 * call is one more test.
 * @returns the delivery's id; null: the webhook was deleted
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
