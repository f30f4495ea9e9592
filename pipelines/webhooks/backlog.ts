import type { Pool } from '../runtime/postgres.ts';

export interface Backlog {
  due: number;
  waiting: number;
  inFlight: number;
  held: number;
  /** Seconds since the longest-waiting due delivery became due; null if none is due. */
  oldestDueSeconds: number | null;
  webhooksPaused: number;
}

const countedByState = `count(*) FILTER (WHERE next_due_at <= now()) AS due,
  count(*) FILTER (WHERE estado = 'pendiente' AND next_due_at > now()) AS waiting,
  count(*) FILTER (WHERE estado = 'en_curso' AND next_due_at > now()) AS "inFlight",
  count(*) FILTER (WHERE estado = 'retenida') AS held,
  extract(epoch FROM now() - min(next_due_at) FILTER (WHERE next_due_at <= now()))::double precision AS "oldestDueSeconds"`;

/**
 * Counts the deliveries of all webhooks. Pending and in-flight deliveries are counted from the first day that may have
 * one (`open_since`), because reading the partitions of 13 months is slow. Held deliveries are counted over all days by
 * a small index of their own. A delivery in flight counts as due once its lease has ended.
 */
export async function readBacklog(pool: Pool): Promise<Backlog> {
  const { rows } = await pool.query<Backlog>(
    `WITH since AS (SELECT coalesce(min(open_since), current_date) AS day FROM webhook_work),
     open AS (
       SELECT ${countedByState} FROM delivery
       WHERE estado IN ('pendiente', 'en_curso') AND day >= (SELECT day FROM since))
     SELECT open.due, open.waiting, open."inFlight", open."oldestDueSeconds",
       (SELECT count(*) FROM delivery WHERE estado = 'retenida') AS held,
       (SELECT count(*) FROM webhook WHERE estado = 'pausado' AND deleted_at IS NULL) AS "webhooksPaused"
     FROM open`,
  );
  return rows[0]!;
}

export interface WebhookBacklog extends Omit<Backlog, 'webhooksPaused'> {
  webhookId: string;
  accountId: number;
  estado: 'activo' | 'pausado';
  failuresInARow: number;
}

/** Returns webhooks with pending, in-flight or held deliveries. The one with the oldest due delivery comes first. */
export async function backlogByWebhook(pool: Pool, maxWebhooks: number): Promise<WebhookBacklog[]> {
  const { rows } = await pool.query<WebhookBacklog>(
    `SELECT w.id AS "webhookId", w.account_id AS "accountId", w.estado, w.fallos_consecutivos AS "failuresInARow",
       d.due, d.waiting, d."inFlight", d.held, d."oldestDueSeconds"
     FROM webhook w JOIN (
       SELECT webhook_id, ${countedByState}
       FROM delivery WHERE estado IN ('pendiente', 'en_curso', 'retenida') GROUP BY webhook_id) AS d ON d.webhook_id = w.id
     ORDER BY d."oldestDueSeconds" DESC NULLS LAST, d.held DESC, w.id LIMIT $1`,
    [maxWebhooks],
  );
  return rows;
}

/** The state of a webhook for operators. The URL is left out, because it may hold a secret of the customer. */
export interface EndpointState extends WebhookBacklog {
  pausedBy: string | null;
  firstFailureAt: Date | null;
  lastDeliveredAt: Date | null;
  deletedAt: Date | null;
  rateLimitPerSecond: number;
  inFlightLimit: number;
  /** The end of the lease of the worker that now sends the webhook's deliveries; null if no worker has a lease. */
  workedOnUntil: Date | null;
}

/** Returns the state of a webhook, even if it was deleted, or null if no webhook has this id. */
export async function readEndpoint(pool: Pool, webhookId: string): Promise<EndpointState | null> {
  const { rows } = await pool.query<EndpointState>(
    `SELECT h.id AS "webhookId", h.account_id AS "accountId", h.estado, h.pausado_por AS "pausedBy",
       h.fallos_consecutivos AS "failuresInARow", h.primer_fallo_at AS "firstFailureAt",
       h.ultima_entrega_at AS "lastDeliveredAt", h.deleted_at AS "deletedAt",
       h.limite_por_segundo AS "rateLimitPerSecond", h.en_vuelo AS "inFlightLimit",
       CASE WHEN w.lease_until > now() THEN w.lease_until END AS "workedOnUntil", d.*
     FROM webhook h LEFT JOIN webhook_work w ON w.webhook_id = h.id CROSS JOIN LATERAL (
       SELECT ${countedByState} FROM delivery
       WHERE webhook_id = h.id AND estado IN ('pendiente', 'en_curso', 'retenida')) AS d
     WHERE h.id = $1`,
    [webhookId],
  );
  return rows[0] ?? null;
}

/** A paused webhook, and why. Its URL is left out, because it may hold a secret of the customer. */
export interface PausedWebhook {
  webhookId: string;
  accountId: number;
  account: string;
  /** Who paused it. Null if the plan no longer includes watching. */
  pausedBy: string | null;
  failuresInARow: number;
  firstFailureAt: Date | null;
  held: number;
}

/** Returns the paused webhooks, those with the most held deliveries first. */
export async function pausedWebhooks(pool: Pool, maxWebhooks: number): Promise<PausedWebhook[]> {
  const { rows } = await pool.query<PausedWebhook>(
    `SELECT w.id AS "webhookId", w.account_id AS "accountId", a.name AS account, w.pausado_por AS "pausedBy",
       w.fallos_consecutivos AS "failuresInARow", w.primer_fallo_at AS "firstFailureAt", h.held
     FROM webhook w JOIN account a ON a.id = w.account_id CROSS JOIN LATERAL (
       SELECT count(*) AS held FROM delivery d WHERE d.webhook_id = w.id AND d.estado = 'retenida') AS h
     WHERE w.estado = 'pausado' AND w.deleted_at IS NULL ORDER BY h.held DESC, w.id LIMIT $1`,
    [maxWebhooks],
  );
  return rows;
}
