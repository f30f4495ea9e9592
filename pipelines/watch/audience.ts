import type { EventKind } from '../../schemas/registers.ts';
import type { PoolClient } from '../runtime/postgres.ts';

/** A webhook as far as it decides what it hears. */
export interface Listener {
  id: string;
  account_id: number;
  eventos: EventKind[] | null;
  listas: number[] | null;
  estado: 'activo' | 'pausado';
}

interface Heard {
  accountId: number;
  field: { evento: EventKind };
  list: { id: number };
}

/**
 * The webhooks that existed when the edition was detected. Locked against a pause or a deletion until this transaction
 * ends: whoever pauses then sees these deliveries and holds them, so none is left pending on a paused webhook.
 */
export async function lockAudience(
  client: PoolClient,
  accounts: readonly number[],
  detectedAt: Date,
): Promise<Listener[]> {
  const { rows } = await client.query<Listener>(
    `SELECT id, account_id, eventos, listas, estado FROM webhook
     WHERE account_id = ANY($1) AND deleted_at IS NULL AND created_at <= $2 ORDER BY id FOR SHARE`,
    [accounts, detectedAt],
  );
  // Elements of bigint arrays come as text.
  return rows.map((row) => ({ ...row, listas: row.listas === null ? null : row.listas.map(Number) }));
}

/** Whether an ordinary event goes to the webhook: one of its account that takes its kind and list. */
export function isTold(webhook: Listener, event: Heard): boolean {
  return (
    webhook.account_id === event.accountId &&
    (webhook.eventos === null || webhook.eventos.includes(event.field.evento)) &&
    (webhook.listas === null || webhook.listas.includes(event.list.id))
  );
}
