import { limaDay } from '../../schemas/lima-time.ts';
import { inTransaction, type Pool, type PoolClient } from '../runtime/postgres.ts';

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
  /** Of the edition whose change it tells; of a test: empty and 0. */
  register: string;
  edition: number;
  /** When the comparison that found the change ended. */
  occurredAt: Date;
  payload: string;
}

export interface Claim {
  /** null: deleted. */
  target: WebhookTarget | null;
  deliveries: readonly ClaimedDelivery[];
  /** Nothing that is due was left, so nothing can start before there is more work or nextDueAt has come. */
  tookAll: boolean;
  wakeSeq: number;
  /** No open delivery is of an earlier day; null: there is none. */
  openSince: string | null;
  /**
   * When something is due that was not due before this claim, by PostgreSQL's clock; null: nothing is, or none was asked for.
   * By the same now() and snapshot as the claim, so what was not due above is counted here, to the microsecond.
   */
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
    const work = await leaseWork(client, webhookId, limits.workLeaseMs);
    const nothing = { ...work, deliveries: [], tookAll: false, nextDueAt: null, nextDueInMs: null };
    if (work.target === null) return nothing;
    const most = prepare(work.target);
    if (work.openSince === null) return { ...nothing, tookAll: true };
    if (most === 0) return nothing;
    return { ...work, ...(await claim(client, work.target, work.openSince, most, limits.deliveryLeaseMs)) };
  });
}

interface LeasedRow {
  wake_seq: number;
  open_since: string | null;
  url: string | null;
  estado: 'activo' | 'pausado';
  limite_por_segundo: number;
  en_vuelo: number;
  agotados_consecutivos: number;
  secrets: { key_id: string; sealed: string }[] | null;
}

/** The lease and the webhook as it is now, in one exchange with the server. */
const leaseSql = `
  WITH work AS (
    INSERT INTO webhook_work AS w (webhook_id, lease_until) VALUES ($1, now() + make_interval(secs => $2))
    ON CONFLICT (webhook_id) DO UPDATE SET lease_until = EXCLUDED.lease_until RETURNING wake_seq, open_since
  )
  SELECT work.wake_seq, work.open_since, h.url, h.estado, h.limite_por_segundo, h.en_vuelo, h.agotados_consecutivos,
    (SELECT json_agg(json_build_object('key_id', s.key_id, 'sealed', encode(s.sealed, 'base64')) ORDER BY s.number DESC)
     FROM (SELECT number, key_id, sealed FROM webhook_secret
           WHERE webhook_id = $1 AND (expires_at IS NULL OR expires_at > now()) ORDER BY number DESC LIMIT 3) AS s) AS secrets
  FROM work LEFT JOIN webhook h ON h.id = $1 AND h.deleted_at IS NULL`;

async function leaseWork(
  client: PoolClient,
  webhookId: string,
  leaseMs: number,
): Promise<Pick<Claim, 'target' | 'wakeSeq' | 'openSince'>> {
  const { rows } = await client.query<LeasedRow>({
    name: 'lease-webhook',
    text: leaseSql,
    values: [webhookId, leaseMs / 1_000],
  });
  const row = rows[0]!;
  return { wakeSeq: row.wake_seq, openSince: row.open_since, target: targetOf(webhookId, row) };
}

function targetOf(webhookId: string, row: LeasedRow): WebhookTarget | null {
  if (row.url === null) return null;
  return {
    id: webhookId,
    url: row.url,
    estado: row.estado,
    rateLimit: row.limite_por_segundo,
    inFlightLimit: row.en_vuelo,
    timeoutsInARow: row.agotados_consecutivos,
    secrets: (row.secrets ?? []).map(({ key_id, sealed }) => ({
      keyId: key_id,
      sealed: Buffer.from(sealed, 'base64'),
    })),
  };
}

/**
 * A delivery waits while another of its RUC is under way, while an earlier one was never attempted, and while an earlier
 * one is due as well: so of one RUC at most one is free. en_curso with a next_due_at that has passed is a lease that ran out.
 * Of a paused webhook only its tests are free; what else of it is under way ends by itself or with its lease (holdAbandoned).
 *
 * How it asks is meant to leave PostgreSQL no choice, since its statistics may be of a time when nothing was open. The bound
 * on the day stands at every table: it plans over the days that matter and not over a year. What goes before a delivery is
 * asked by next_due_at, which only open ones have, and not by estado, so that no partial index serves; OFFSET 0 keeps it a
 * question per delivery, which stops with the limit; the update finds by key what is locked already. Its plan is kept:
 * planning takes ten times as long as running it.
 * @param since no open delivery is of an earlier day
 */
const claimSql = (since: string) => `
  WITH running AS (
    SELECT count(*) AS n FROM delivery WHERE webhook_id = $1 AND day >= ${dayText(since)} AND estado = 'en_curso' AND next_due_at > now()
  ), free AS (
    SELECT d.day, d.id FROM delivery d
    WHERE d.webhook_id = $1 AND d.day >= ${dayText(since)} AND d.estado IN ('pendiente', 'en_curso') AND d.next_due_at <= now()
      AND (d.is_test OR NOT $5)
      AND NOT EXISTS (
        SELECT FROM delivery o
        WHERE o.webhook_id = d.webhook_id AND o.day >= ${dayText(since)} AND o.ruc = d.ruc AND o.next_due_at IS NOT NULL AND o.id <> d.id
          AND ((o.estado = 'en_curso' AND o.next_due_at > now())
            OR (o.position < d.position AND (o.intentos = 0 OR o.next_due_at <= now())))
        OFFSET 0)
    ORDER BY d.next_due_at, d.position
    LIMIT LEAST($2::bigint, GREATEST(0, $3::bigint - (SELECT n FROM running)))
    FOR UPDATE OF d
  ), claimed AS (
    UPDATE delivery d SET estado = 'en_curso', intentos = d.intentos + 1, lease_token = gen_random_uuid()::text,
      lease_until = now() + make_interval(secs => $4), next_due_at = now() + make_interval(secs => $4)
    FROM free WHERE d.day >= ${dayText(since)} AND d.day = free.day AND d.id = free.id
    RETURNING d.day, d.id, d.event_id, d.position, d.lease_token, d.intentos, d.fallos_del_ciclo, d.is_test
  ), announced AS (
    INSERT INTO attempt (day, delivery_id, number, started_at, failure)
    SELECT day, id, intentos, now(), 'resultado_desconocido' FROM claimed
  )
  SELECT next.at AS next_at, ceil(extract(epoch FROM next.at - now()) * 1000) AS next_in_ms,
    NOT EXISTS (
      SELECT FROM delivery d
      WHERE d.webhook_id = $1 AND d.day >= ${dayText(since)} AND d.estado IN ('pendiente', 'en_curso') AND d.next_due_at <= now()
        AND (d.is_test OR NOT $5) AND d.id <> ALL (SELECT id FROM free)) AS took_all,
    c.day, c.id, c.lease_token, c.intentos, c.fallos_del_ciclo, c.is_test, e.evento, e.register, e.edition, e.ocurrido_en, e.payload
  FROM (
    SELECT min(next_due_at) AS at FROM delivery
    WHERE webhook_id = $1 AND day >= ${dayText(since)} AND estado IN ('pendiente', 'en_curso') AND next_due_at > now()
      AND (is_test OR NOT $5 OR estado = 'en_curso')) AS next
  LEFT JOIN (claimed c JOIN event e ON e.day >= ${dayText(since)} AND e.day = c.day AND e.id = c.event_id) ON true
  ORDER BY c.position`;

interface ClaimedRow {
  next_at: Date | null;
  next_in_ms: string | null;
  took_all: boolean;
  /** null: nothing was claimed, and the row only says what is due next. */
  day: string | null;
  id: string;
  lease_token: string;
  intentos: number;
  fallos_del_ciclo: number;
  is_test: boolean;
  evento: string;
  register: string;
  edition: number;
  ocurrido_en: Date;
  payload: string;
}

async function claim(
  client: PoolClient,
  target: WebhookTarget,
  openSince: string,
  most: number,
  leaseMs: number,
): Promise<Pick<Claim, 'deliveries' | 'tookAll' | 'nextDueAt' | 'nextDueInMs'>> {
  const isPaused = target.estado === 'pausado';
  const { rows } = await client.query<ClaimedRow>({
    name: keptUnder('claim-deliveries', openSince),
    text: claimSql(openSince),
    values: [target.id, most, target.inFlightLimit, leaseMs / 1_000, isPaused],
  });
  const { next_at, next_in_ms, took_all } = rows[0]!;
  const deliveries = rows
    .filter((row): row is ClaimedRow & { day: string } => row.day !== null)
    .map((row) => ({
      day: row.day,
      id: row.id,
      leaseToken: row.lease_token,
      attempt: row.intentos,
      failuresOfCycle: row.fallos_del_ciclo,
      isTest: row.is_test,
      event: row.evento,
      register: row.register,
      edition: row.edition,
      occurredAt: row.ocurrido_en,
      payload: row.payload,
    }));
  return {
    deliveries,
    tookAll: took_all,
    nextDueAt: next_at,
    nextDueInMs: next_in_ms === null ? null : Number(next_in_ms),
  };
}

/**
 * Holds what a worker that died left under way and whose webhook is paused by now: nobody takes it up, so it is kept like the
 * rest. The webhook's row is locked against a resume, which would find it neither held nor due. Repeatable.
 * @param openSince no open delivery is of an earlier day
 */
export async function holdAbandoned(pool: Pool, webhookId: string, openSince: string): Promise<void> {
  await pool.query(
    `WITH paused AS (SELECT FROM webhook WHERE id = $1 AND estado = 'pausado' AND deleted_at IS NULL FOR SHARE)
     UPDATE delivery SET estado = 'retenida', next_due_at = NULL, lease_token = NULL, lease_until = NULL
     WHERE webhook_id = $1 AND day >= $2 AND estado = 'en_curso' AND next_due_at <= now() AND NOT is_test
       AND EXISTS (SELECT FROM paused)`,
    [webhookId, openSince],
  );
}

const weekMs = 7 * 86_400_000;

/** A lower bound of `day`, written into the statement. A parameter would not do: see keptUnder. */
export function dayText(day: string): string {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(day)) throw new RangeError('a bound of days is no day');
  return `DATE '${day}'`;
}

/**
 * The name under which a connection keeps the plan of a statement with that bound; undefined: planned each time. With the bound
 * as a parameter the one plan that is kept would be of all days that there are: after 13 months it takes a second to make
 * and locks seven thousand tables and indexes, just to be found worse. Bounds are of the last days, but for what was held
 * for long: plans of as many days are not kept. Those of past days go with their connection (maxLifetimeSeconds).
 */
export function keptUnder(statement: string, since: string): string | undefined {
  return since >= limaDay(new Date(Date.now() - weekMs)) ? `${statement} ${since}` : undefined;
}
