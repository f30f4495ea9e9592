import { inTransaction, type Pool, type PoolClient } from '../../deploy/runtime/postgres.ts';

/** The webhook as it is now: every attempt reads it again. */
export interface WebhookTarget {
  id: string;
  url: string;
  estado: 'activo' | 'pausado';
  /** Requests per second. */
  rateLimit: number;
  inFlightLimit: number;
  /** Its last attempts that ended without an answer in time. */
  timeoutsInARow: number;
  /** Sealed, newest first, at most three. */
  secrets: readonly { keyId: string; sealed: Buffer }[];
}

export interface ClaimedDelivery {
  day: string;
  id: string;
  leaseToken: string;
  /** Number of this attempt, from 1. */
  attempt: number;
  /** Failed attempts since the schedule (re)started. */
  failuresOfCycle: number;
  /** Asked for by the customer to try the endpoint: sent once, and of no account for the endpoint's health. */
  isTest: boolean;
  event: string;
  payload: string;
}

export interface Claim {
  /** null: deleted. */
  target: WebhookTarget | null;
  deliveries: readonly ClaimedDelivery[];
  wakeSeq: number;
  /** No open delivery is of an earlier day; null: there is none. */
  openSince: string | null;
  /** When something is due that is not due yet, by PostgreSQL's clock; null: nothing is. */
  nextDueAt: Date | null;
  /** Milliseconds from PostgreSQL's now to nextDueAt. */
  nextDueInMs: number | null;
}

export interface ClaimLimits {
  /** Longer than an exchange may take: a lease that ends while its request is under way sends it twice. */
  deliveryLeaseMs: number;
  workLeaseMs: number;
}

/**
 * Takes what can be sent now: due, at most one per RUC, in order of publication, within the in-flight limit. One short
 * transaction, serialised per webhook by its webhook_work row. The attempt's row is written here as "outcome unknown":
 * dying after the commit leaves exactly that, and the delivery is due again when its lease ends.
 * @param prepare is given the target before anything is claimed and says how many to take at most; if it throws, none is
 */
export function claimDeliveries(
  pool: Pool,
  webhookId: string,
  limits: ClaimLimits,
  prepare: (target: WebhookTarget) => number,
): Promise<Claim> {
  return inTransaction(pool, async (client) => {
    const { wakeSeq, openSince } = await leaseWork(client, webhookId, limits.workLeaseMs);
    const target = await readTarget(client, webhookId);
    const nothing = { deliveries: [], nextDueAt: null, nextDueInMs: null };
    if (target === null) return { ...nothing, target, wakeSeq, openSince };
    const most = prepare(target);
    if (openSince === null) return { ...nothing, target, wakeSeq, openSince };
    const deliveries = most > 0 ? await claim(client, target, openSince, most, limits.deliveryLeaseMs) : [];
    return { target, deliveries, wakeSeq, openSince, ...(await nextDue(client, target, openSince)) };
  });
}

async function leaseWork(
  client: PoolClient,
  webhookId: string,
  leaseMs: number,
): Promise<{ wakeSeq: number; openSince: string | null }> {
  const { rows } = await client.query<{ wake_seq: number; open_since: string | null }>(
    `INSERT INTO webhook_work AS w (webhook_id, lease_until) VALUES ($1, now() + make_interval(secs => $2))
     ON CONFLICT (webhook_id) DO UPDATE SET lease_until = EXCLUDED.lease_until RETURNING wake_seq, open_since`,
    [webhookId, leaseMs / 1_000],
  );
  return { wakeSeq: rows[0]!.wake_seq, openSince: rows[0]!.open_since };
}

async function readTarget(client: PoolClient, webhookId: string): Promise<WebhookTarget | null> {
  const { rows } = await client.query<{
    url: string;
    estado: 'activo' | 'pausado';
    limite_por_segundo: number;
    en_vuelo: number;
    agotados_consecutivos: number;
  }>(
    `SELECT url, estado, limite_por_segundo, en_vuelo, agotados_consecutivos FROM webhook
     WHERE id = $1 AND deleted_at IS NULL`,
    [webhookId],
  );
  const row = rows[0];
  if (row === undefined) return null;
  const secrets = await client.query<{ key_id: string; sealed: Buffer }>(
    `SELECT key_id, sealed FROM webhook_secret WHERE webhook_id = $1 AND (expires_at IS NULL OR expires_at > now())
     ORDER BY number DESC LIMIT 3`,
    [webhookId],
  );
  return {
    id: webhookId,
    url: row.url,
    estado: row.estado,
    rateLimit: row.limite_por_segundo,
    inFlightLimit: row.en_vuelo,
    timeoutsInARow: row.agotados_consecutivos,
    secrets: secrets.rows.map(({ key_id, sealed }) => ({ keyId: key_id, sealed })),
  };
}

/**
 * A delivery waits while another of its RUC is under way, while an earlier one was never attempted, and while an earlier
 * one is due as well: so of one RUC at most one is free. en_curso with a next_due_at that has passed is a lease that ran out.
 * Of a paused webhook only its tests are free. The bound on the day stands at every table, so that PostgreSQL plans over the days that matter and not over a year.
 */
const claimSql = `
  WITH running AS (
    SELECT count(*) AS n FROM delivery WHERE webhook_id = $1 AND day >= $5 AND estado = 'en_curso' AND next_due_at > now()
  ), free AS (
    SELECT d.day, d.id FROM delivery d
    WHERE d.webhook_id = $1 AND d.day >= $5 AND d.estado IN ('pendiente', 'en_curso') AND d.next_due_at <= now()
      AND (d.is_test OR NOT $6)
      AND NOT EXISTS (
        SELECT FROM delivery o
        WHERE o.webhook_id = d.webhook_id AND o.day >= $5 AND o.ruc = d.ruc AND o.estado IN ('pendiente', 'en_curso') AND o.id <> d.id
          AND ((o.estado = 'en_curso' AND o.next_due_at > now())
            OR (o.position < d.position AND (o.intentos = 0 OR o.next_due_at <= now()))))
    ORDER BY d.next_due_at, d.position
    LIMIT LEAST($2::bigint, GREATEST(0, $3::bigint - (SELECT n FROM running)))
  ), claimed AS (
    UPDATE delivery d SET estado = 'en_curso', intentos = d.intentos + 1, lease_token = gen_random_uuid()::text,
      lease_until = now() + make_interval(secs => $4), next_due_at = now() + make_interval(secs => $4)
    FROM free WHERE d.day >= $5 AND d.day = free.day AND d.id = free.id AND d.estado IN ('pendiente', 'en_curso')
    RETURNING d.day, d.id, d.event_id, d.position, d.lease_token, d.intentos, d.fallos_del_ciclo, d.is_test
  ), announced AS (
    INSERT INTO attempt (day, delivery_id, number, started_at, failure)
    SELECT day, id, intentos, now(), 'resultado_desconocido' FROM claimed
  )
  SELECT c.day, c.id, c.lease_token, c.intentos, c.fallos_del_ciclo, c.is_test, e.evento, e.payload
  FROM claimed c JOIN event e ON e.day >= $5 AND e.day = c.day AND e.id = c.event_id ORDER BY c.position`;

async function claim(
  client: PoolClient,
  target: WebhookTarget,
  openSince: string,
  most: number,
  leaseMs: number,
): Promise<ClaimedDelivery[]> {
  const { rows } = await client.query<{
    day: string;
    id: string;
    lease_token: string;
    intentos: number;
    fallos_del_ciclo: number;
    is_test: boolean;
    evento: string;
    payload: string;
  }>(claimSql, [target.id, most, target.inFlightLimit, leaseMs / 1_000, openSince, target.estado === 'pausado']);
  return rows.map((row) => ({
    day: row.day,
    id: row.id,
    leaseToken: row.lease_token,
    attempt: row.intentos,
    failuresOfCycle: row.fallos_del_ciclo,
    isTest: row.is_test,
    event: row.evento,
    payload: row.payload,
  }));
}

/** In the claim's own transaction, so by the same now(): what was not due above is counted here, to the microsecond. */
async function nextDue(
  client: PoolClient,
  target: WebhookTarget,
  openSince: string,
): Promise<Pick<Claim, 'nextDueAt' | 'nextDueInMs'>> {
  const { rows } = await client.query<{ at: Date | null; in_ms: string | null }>(
    `SELECT at, ceil(extract(epoch FROM at - now()) * 1000) AS in_ms FROM (
       SELECT min(next_due_at) AS at FROM delivery
       WHERE webhook_id = $1 AND day >= $2 AND estado IN ('pendiente', 'en_curso') AND next_due_at > now()
         AND (is_test OR NOT $3)) AS next`,
    [target.id, openSince, target.estado === 'pausado'],
  );
  const row = rows[0]!;
  return { nextDueAt: row.at, nextDueInMs: row.in_ms === null ? null : Number(row.in_ms) };
}
