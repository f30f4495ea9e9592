import type { EventKind } from '../../schemas/registers.ts';
import { inTransaction, type Pool } from '../runtime/postgres.ts';
import type { SealedSecret } from '../runtime/secrets.ts';
import { lockAccount } from './lists.ts';
import { readWebhook, unknownList, type Webhook } from './webhooks.ts';

/** A field left out stays. Of `eventos` and `listas` null means all, of `descripcion` none. */
export interface WebhookPatch {
  url?: string | undefined;
  eventos?: readonly EventKind[] | null | undefined;
  listas?: readonly number[] | null | undefined;
  descripcion?: string | null | undefined;
  limite_por_segundo?: number | undefined;
  en_vuelo?: number | undefined;
}

export type ChangeResult =
  | { ok: true; webhook: Webhook }
  | { ok: false; problem: 'not_found' }
  | { ok: false; problem: 'list_not_found'; list: number };

/**
 * Repeatable. Pending deliveries use the URL of the moment at which they are sent, and limits hold from the next claim on.
 * Another URL is another endpoint: what the old one failed does not count against it. What a filter leaves out from now
 * on was told of already and is still sent.
 */
export async function changeWebhook(
  pool: Pool,
  accountId: number,
  id: string,
  patch: WebhookPatch,
): Promise<ChangeResult> {
  const missing = await inTransaction(pool, async (client): Promise<number | null> => {
    await lockAccount(client, accountId);
    const unknown = await unknownList(client, accountId, patch.listas ?? []);
    if (unknown !== null) return unknown;
    await client.query(
      `UPDATE webhook SET
         fallos_consecutivos = CASE WHEN url <> $3 THEN 0 ELSE fallos_consecutivos END,
         primer_fallo_at = CASE WHEN url <> $3 THEN NULL ELSE primer_fallo_at END,
         agotados_consecutivos = CASE WHEN url <> $3 THEN 0 ELSE agotados_consecutivos END,
         url = coalesce($3, url),
         eventos = CASE WHEN $4 THEN $5::text[] ELSE eventos END,
         listas = CASE WHEN $6 THEN $7::bigint[] ELSE listas END,
         descripcion = CASE WHEN $8 THEN $9 ELSE descripcion END,
         limite_por_segundo = coalesce($10, limite_por_segundo),
         en_vuelo = coalesce($11, en_vuelo)
       WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL`,
      [
        accountId,
        id,
        patch.url ?? null,
        patch.eventos !== undefined,
        patch.eventos ?? null,
        patch.listas !== undefined,
        patch.listas ?? null,
        patch.descripcion !== undefined,
        patch.descripcion ?? null,
        patch.limite_por_segundo ?? null,
        patch.en_vuelo ?? null,
      ],
    );
    return null;
  });
  if (missing !== null) return { ok: false, problem: 'list_not_found', list: missing };
  const webhook = await readWebhook(pool, accountId, id);
  return webhook === null ? { ok: false, problem: 'not_found' } : { ok: true, webhook };
}

/** Older secrets that still sign beside the newest: three in all, which a claim reads (claim.ts). */
const maxOlderSecrets = 2;

/**
 * Makes the secret the newest. Those before it sign for the grace and no longer than they would have anyway; what no longer
 * signs is removed. Not repeatable by itself: a repeat whose answer was lost is one more rotation, and the secret nobody
 * saw signs beside the others.
 * @returns when the one before it stops signing; null: no such webhook of this account
 */
export function rotateSecret(
  pool: Pool,
  accountId: number,
  webhookId: string,
  secret: SealedSecret,
  graceSeconds: number,
): Promise<Date | null> {
  return inTransaction(pool, async (client) => {
    const webhook = await client.query(
      'SELECT 1 FROM webhook WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE',
      [accountId, webhookId],
    );
    if (webhook.rowCount === 0) return null;
    const { rows } = await client.query<{ newest: number; until: Date }>(
      `SELECT max(number) AS newest, now() + make_interval(secs => $2) AS until FROM webhook_secret WHERE webhook_id = $1`,
      [webhookId, graceSeconds],
    );
    const { newest, until } = rows[0]!;
    await client.query(
      `UPDATE webhook_secret SET expires_at = LEAST(expires_at, now() + make_interval(secs => $2)) WHERE webhook_id = $1`,
      [webhookId, graceSeconds],
    );
    await client.query('DELETE FROM webhook_secret WHERE webhook_id = $1 AND (expires_at <= now() OR number <= $2)', [
      webhookId,
      newest - maxOlderSecrets,
    ]);
    await client.query('INSERT INTO webhook_secret (webhook_id, number, key_id, sealed) VALUES ($1, $2, $3, $4)', [
      webhookId,
      newest + 1,
      secret.keyId,
      secret.sealed,
    ]);
    return until;
  });
}
