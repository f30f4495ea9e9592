import type { Pool, PoolClient } from '../runtime/postgres.ts';

export interface StoredOwnerNotice {
  id: number;
  webhookId: string;
  kind: OwnerNoticeKind;
  detail: Record<string, unknown>;
  at: Date;
}

/** An account's notices, newest first, those before `before`; null: from the newest. */
export async function pageOwnerNotices(
  pool: Pool,
  accountId: number,
  before: number | null,
  limit: number,
): Promise<StoredOwnerNotice[]> {
  const { rows } = await pool.query<StoredOwnerNotice>(
    `SELECT id, webhook_id AS "webhookId", kind, detail, at FROM notice
     WHERE account_id = $1 AND ($2::bigint IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
    [accountId, before, limit],
  );
  return rows;
}

/** `plan`: the account's plan does not watch any more (plan-hold.ts); the webhook itself then names no cause. */
export type PauseCause = 'fallos' | 'respuesta_410' | 'cliente' | 'plan';

/** What an account is told about its webhooks besides the events: in `avisos` and by mail. Keys of `detail` are the API's. */
export type OwnerNotice =
  | {
      kind: 'webhook.por_pausar';
      /** How far the failures have gone towards the pause. */
      detail: { porcentaje: 50 | 90; fallos_consecutivos: number; primer_fallo_en: string };
    }
  | { kind: 'webhook.pausado'; detail: { causa: PauseCause; fallos_consecutivos: number } }
  | { kind: 'webhook.reanudado'; detail: { liberadas: number } };

type OwnerNoticeKind = OwnerNotice['kind'];

/**
 * Writes a notice in the transaction that changes the webhook, whose row the caller has locked: both are there or neither.
 * Of one series of failures each warning is written once, whoever repeats it; a pause or resume is said by whoever made
 * the change. The mail goes out later (notice-mail.ts).
 * @returns false: this warning stands already, or there is no such webhook
 */
export async function writeOwnerNotice(client: PoolClient, webhookId: string, notice: OwnerNotice): Promise<boolean> {
  const { rowCount } = await client.query(
    `INSERT INTO notice (account_id, webhook_id, kind, detail, once)
     SELECT account_id, id, $2, $3, $4 FROM webhook WHERE id = $1
     ON CONFLICT (webhook_id, once) WHERE once IS NOT NULL DO NOTHING`,
    [webhookId, notice.kind, JSON.stringify(notice.detail), onceOf(notice)],
  );
  return rowCount === 1;
}

function onceOf(notice: OwnerNotice): string | null {
  if (notice.kind !== 'webhook.por_pausar') return null;
  return `${notice.detail.porcentaje} ${notice.detail.primer_fallo_en}`;
}
