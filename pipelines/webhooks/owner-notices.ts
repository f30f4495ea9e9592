import type { Pool, PoolClient } from '../runtime/postgres.ts';

export interface StoredOwnerNotice {
  id: number;
  webhookId: string;
  kind: OwnerNotice['kind'];
  detail: Record<string, unknown>;
  at: Date;
}

/** Returns an account's notices, newest first. If `before` is not null, only notices with a lower id are returned. */
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

/** Why a webhook was paused. `plan`: the plan no longer includes watching (webhook.pausado_por is then null). */
export type PauseCause = 'fallos' | 'respuesta_410' | 'cliente' | 'plan';

/**
 * What happened to a webhook. The API shows it under `avisos`, and the owner gets it by mail. `detail` has the API's
 * field names.
 */
export type OwnerNotice =
  | {
      kind: 'webhook.por_pausar';
      /** `porcentaje` is how far the failures have gone towards a pause. */
      detail: { porcentaje: 50 | 90; fallos_consecutivos: number; primer_fallo_en: string };
    }
  | { kind: 'webhook.pausado'; detail: { causa: PauseCause; fallos_consecutivos: number } }
  | { kind: 'webhook.reanudado'; detail: { liberadas: number } };

/**
 * Writes an owner notice in the transaction that changes the webhook, so that both are stored or neither. The caller
 * must have locked the webhook's row. A warning of a pause is written once per percentage and series of failures. The
 * mail is sent later (owner-mail.ts).
 * @returns false if this warning was written before, or if the webhook does not exist
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
