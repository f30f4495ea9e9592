import type { NewWebhook, WebhookPatch } from '../../schemas/http/webhooks.ts';
import type { EventKind } from '../../schemas/registers.ts';
import { inTransaction, lockAccount, type Pool, type PoolClient, type Queryable } from '../runtime/postgres.ts';
import type { SealedSecret } from '../runtime/secrets.ts';
import { followPlan } from './pauses.ts';

export interface Webhook {
  id: string;
  url: string;
  /** null means every kind of event. */
  eventos: EventKind[] | null;
  /** null means every list. */
  listas: number[] | null;
  descripcion: string | null;
  limite_por_segundo: number;
  en_vuelo: number;
  estado: 'activo' | 'pausado';
  pausado_por: 'fallos' | 'respuesta_410' | 'cliente' | null;
  fallos_consecutivos: number;
  pendientes: number;
  ultima_entrega_at: Date | null;
  created_at: Date;
}

export type CreateResult =
  | { ok: true; webhook: Webhook }
  | { ok: false; problem: 'too_many' }
  | { ok: false; problem: 'list_not_found'; list: number };

// `pendientes` counts over all partitions, because a held delivery may be of any day. PostgreSQL needs longer to plan
// such a statement than to run it. So the statements with these columns have names, and each connection keeps their
// plans.
const columns = `w.id, w.url, w.eventos, to_json(w.listas) AS listas, w.descripcion, w.limite_por_segundo, w.en_vuelo,
  w.estado, w.pausado_por, w.fallos_consecutivos, w.ultima_entrega_at, w.created_at,
  (SELECT count(*) FROM delivery d WHERE d.webhook_id = w.id AND d.estado IN ('pendiente', 'en_curso') AND NOT d.is_test)
    + (SELECT count(*) FROM delivery d WHERE d.webhook_id = w.id AND d.estado = 'retenida') AS pendientes`;

/**
 * Inserts a webhook in one transaction with its encrypted secret and its row in webhook_work. Without the secret, no
 * delivery could be signed. Without the row, `lockWork` would lock nothing. The plan is read again under the account's
 * lock, because it may have changed since the caller read it. A plan without watching pauses the webhook at once.
 * @param lowestPlan the lowest plan that includes watching
 */
export async function createWebhook(
  pool: Pool,
  accountId: number,
  wanted: NewWebhook & { id: string; secret: SealedSecret },
  maxWebhooks: number,
  lowestPlan: string,
): Promise<CreateResult> {
  return inTransaction(pool, async (client): Promise<CreateResult> => {
    await lockAccount(client, accountId);
    const held = await client.query<{ count: number }>(
      'SELECT count(*) FROM webhook WHERE account_id = $1 AND deleted_at IS NULL',
      [accountId],
    );
    if (held.rows[0]!.count >= maxWebhooks) return { ok: false, problem: 'too_many' };
    const unknown = await unknownList(client, accountId, wanted.listas ?? []);
    if (unknown !== null) return { ok: false, problem: 'list_not_found', list: unknown };
    await client.query(
      `INSERT INTO webhook (id, account_id, url, eventos, listas, descripcion, limite_por_segundo, en_vuelo)
       VALUES ($1, $2, $3, $4, $5, $6, coalesce($7, 20), coalesce($8, 10))`,
      [
        wanted.id,
        accountId,
        wanted.url,
        wanted.eventos ?? null,
        wanted.listas ?? null,
        wanted.descripcion ?? null,
        wanted.limite_por_segundo ?? null,
        wanted.en_vuelo ?? null,
      ],
    );
    await client.query('INSERT INTO webhook_secret (webhook_id, number, key_id, sealed) VALUES ($1, 1, $2, $3)', [
      wanted.id,
      wanted.secret.keyId,
      wanted.secret.sealed,
    ]);
    await client.query('INSERT INTO webhook_work (webhook_id) VALUES ($1) ON CONFLICT DO NOTHING', [wanted.id]);
    if (!(await isWatched(client, accountId, lowestPlan))) await followPlan(client, accountId, false);
    return { ok: true, webhook: (await readWebhook(client, accountId, wanted.id))! };
  });
}

async function isWatched(client: PoolClient, accountId: number, lowestPlan: string): Promise<boolean> {
  const { rows } = await client.query<{ watches: boolean }>(
    `SELECT p.rank >= (SELECT rank FROM plan WHERE name = $2) AS watches
     FROM account a JOIN plan p ON p.name = a.plan WHERE a.id = $1`,
    [accountId, lowestPlan],
  );
  return rows[0]!.watches;
}

/**
 * Returns the first of `lists` that the account does not have, or null. The caller must have locked the account.
 * Otherwise a list could be deleted before the commit.
 */
async function unknownList(client: PoolClient, accountId: number, lists: readonly number[]): Promise<number | null> {
  const { rows } = await client.query<{ id: number }>(
    'SELECT id FROM watch_list WHERE account_id = $1 AND deleted_at IS NULL AND id = ANY($2)',
    [accountId, lists],
  );
  const known = new Set(rows.map(({ id }) => id));
  return lists.find((list) => !known.has(list)) ?? null;
}

export async function readWebhook(database: Queryable, accountId: number, id: string): Promise<Webhook | null> {
  const { rows } = await database.query<Webhook>({
    name: 'read-webhook',
    text: `SELECT ${columns} FROM webhook w WHERE w.account_id = $1 AND w.id = $2 AND w.deleted_at IS NULL`,
    values: [accountId, id],
  });
  return rows[0] ?? null;
}

export async function listWebhooks(pool: Pool, accountId: number): Promise<Webhook[]> {
  const { rows } = await pool.query<Webhook>({
    name: 'list-webhooks',
    text: `SELECT ${columns} FROM webhook w WHERE w.account_id = $1 AND w.deleted_at IS NULL ORDER BY w.created_at, w.id`,
    values: [accountId],
  });
  return rows;
}

export type ChangeResult =
  | { ok: true; webhook: Webhook }
  | { ok: false; problem: 'not_found' }
  | { ok: false; problem: 'list_not_found'; list: number };

/**
 * Changes a webhook. A repeat changes nothing.
 * - A pending delivery goes to the URL that the webhook has when the delivery is sent.
 * - A new URL is a new endpoint, so the count of failures starts again at 0.
 * - New limits apply from the next claim on.
 * - New filters do not stop existing deliveries.
 */
export async function changeWebhook(
  pool: Pool,
  accountId: number,
  id: string,
  patch: WebhookPatch,
): Promise<ChangeResult> {
  return inTransaction(pool, async (client): Promise<ChangeResult> => {
    await lockAccount(client, accountId);
    const unknown = await unknownList(client, accountId, patch.listas ?? []);
    if (unknown !== null) return { ok: false, problem: 'list_not_found', list: unknown };
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
    const webhook = await readWebhook(client, accountId, id);
    return webhook === null ? { ok: false, problem: 'not_found' } : { ok: true, webhook };
  });
}

/** A secret of a webhook that signs now, without the secret itself. */
export interface SigningSecret {
  number: number;
  createdAt: Date;
  /** When it stops signing. Null for the newest. */
  expiresAt: Date | null;
}

/** Returns the secrets that sign now, the newest first. The caller must have checked that the account has the webhook. */
export async function signingSecrets(pool: Pool, webhookId: string): Promise<SigningSecret[]> {
  const { rows } = await pool.query<SigningSecret>(
    `SELECT number, created_at AS "createdAt", expires_at AS "expiresAt" FROM webhook_secret
     WHERE webhook_id = $1 AND (expires_at IS NULL OR expires_at > now()) ORDER BY number DESC`,
    [webhookId],
  );
  return rows;
}

/** How many older secrets sign beside the newest one. A claim reads three secrets in all (claim.ts). */
const maxOlderSecrets = 2;

/**
 * Adds a secret as the newest. Older secrets sign for the grace period, unless they expire earlier. Secrets that no
 * longer sign are removed. A repeat of the call adds one more secret. So if an answer was lost and the customer asks
 * again, the secret in the lost answer signs too, although the customer never saw it.
 * @returns when the previous secret stops signing; null if the account has no such webhook
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
