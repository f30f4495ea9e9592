import { limaDay } from '../../schemas/lima-time.ts';
import { inTransaction, type Pool, type PoolClient } from '../runtime/postgres.ts';
import type { SealedSecret } from '../runtime/secrets.ts';

export interface WebhookTarget {
  id: string;
  url: string;
  estado: 'activo' | 'pausado';
  rateLimit: number;
  inFlightLimit: number;
  /** How many of the webhook's latest attempts in a row ended without an answer in time. */
  timeoutsInARow: number;
  /** Encrypted secrets, newest first, at most three. */
  secrets: readonly SealedSecret[];
}

export interface ClaimedDelivery {
  day: string;
  id: string;
  leaseToken: string;
  attempt: number;
  /** Number of failed attempts since the retry schedule last started. */
  failuresOfCycle: number;
  /** True for a test that the customer asked for. It is sent once and does not count for the endpoint's health. */
  isTest: boolean;
  event: string;
  /** Register and edition of the change. For a test they are an empty text and 0. */
  register: string;
  edition: number;
  /** When the change's publication was verified, its correction was ordered, or the test was requested. */
  occurredAt: Date;
  payload: string;
}

export interface Claim {
  /** null if the webhook was deleted. */
  target: WebhookTarget | null;
  deliveries: readonly ClaimedDelivery[];
  /** True if the claim took every due delivery. The next is due only when work is added or `nextDueAt` comes. */
  tookAll: boolean;
  wakeSeq: number;
  /** A day before which the webhook has no pending or in-flight delivery; null if it has no such delivery at all. */
  openSince: string | null;
  /**
   * When the next waiting delivery becomes due, by PostgreSQL's clock. Null if none waits, or if the call ended before
   * it claimed. The statement that claims also computes this time, so no delivery can become due between the two.
   */
  nextDueAt: Date | null;
  nextDueInMs: number | null;
}

export interface ClaimLimits {
  /**
   * Length of a delivery's lease. It must be longer than a request with its answer can take. Otherwise another worker
   * could send the delivery a second time during the request.
   */
  deliveryLeaseMs: number;
  workLeaseMs: number;
}

/**
 * Claims the deliveries that can be sent now: due deliveries, at most one per RUC, up to the in-flight limit. Returns
 * them in order of their events' positions. The claim is one short transaction that locks the webhook's row in
 * webhook_work, so two claims of a webhook never overlap.
 *
 * Each attempt is inserted with the result `resultado_desconocido`. If the process dies after the commit, the attempt
 * keeps this result, and the delivery is due again when its lease ends.
 * @param prepare gets the target and returns how many deliveries may be claimed; if it throws, nothing is claimed
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

interface LeasedRow extends Omit<WebhookTarget, 'url' | 'secrets'> {
  wakeSeq: number;
  openSince: string | null;
  url: string | null;
  secrets: { keyId: string; sealed: string }[] | null;
}

const leaseSql = `
  WITH work AS (
    INSERT INTO webhook_work AS w (webhook_id, lease_until) VALUES ($1, now() + make_interval(secs => $2))
    ON CONFLICT (webhook_id) DO UPDATE SET lease_until = EXCLUDED.lease_until RETURNING wake_seq, open_since
  )
  SELECT work.wake_seq AS "wakeSeq", work.open_since AS "openSince", h.id, h.url, h.estado,
    h.limite_por_segundo AS "rateLimit", h.en_vuelo AS "inFlightLimit", h.agotados_consecutivos AS "timeoutsInARow",
    (SELECT json_agg(json_build_object('keyId', s.key_id, 'sealed', encode(s.sealed, 'base64')) ORDER BY s.number DESC)
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
  const { wakeSeq, openSince, url, secrets, ...webhook } = rows[0]!;
  if (url === null) return { wakeSeq, openSince, target: null };
  const stillSealed = (secrets ?? []).map(({ keyId, sealed }) => ({ keyId, sealed: Buffer.from(sealed, 'base64') }));
  return { wakeSeq, openSince, target: { ...webhook, url, secrets: stillSealed } };
}

/**
 * Claims at most one delivery per RUC. Open means pending or in flight. A due delivery waits in these cases:
 * - Another delivery of its RUC is in flight.
 * - An earlier open delivery of its RUC was never attempted, or is due too.
 * - The webhook is paused, and the delivery is no test.
 *
 * A delivery in state en_curso with a past next_due_at is claimed again, because its lease has ended.
 *
 * The statement leaves PostgreSQL no choice of plan, because old statistics may show that no delivery is open:
 * - Every table has a lower bound on the day. Otherwise PostgreSQL would plan over a year of partitions.
 * - The check for other deliveries of the RUC finds open ones by next_due_at and not by estado. Otherwise PostgreSQL
 *   could choose the index of open deliveries, which seems empty, and read all of it for every delivery.
 * - OFFSET 0 makes the check run row by row, so the check stops once the LIMIT is reached.
 * - The update finds the locked rows by their key.
 * - A connection keeps the plan under a name (`keptUnder`), because planning takes ten times as long as running.
 * @param since the earliest day that may have an open delivery
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
  SELECT next.at AS "nextDueAt", ceil(extract(epoch FROM next.at - now()) * 1000)::double precision AS "nextDueInMs",
    NOT EXISTS (
      SELECT FROM delivery d
      WHERE d.webhook_id = $1 AND d.day >= ${dayText(since)} AND d.estado IN ('pendiente', 'en_curso') AND d.next_due_at <= now()
        AND (d.is_test OR NOT $5) AND d.id <> ALL (SELECT id FROM free)) AS "tookAll",
    c.day, c.id, c.lease_token AS "leaseToken", c.intentos AS attempt, c.fallos_del_ciclo AS "failuresOfCycle",
    c.is_test AS "isTest", e.evento AS event, e.register, e.edition, e.ocurrido_en AS "occurredAt", e.payload
  FROM (
    SELECT min(next_due_at) AS at FROM delivery
    WHERE webhook_id = $1 AND day >= ${dayText(since)} AND estado IN ('pendiente', 'en_curso') AND next_due_at > now()
      AND (is_test OR NOT $5 OR estado = 'en_curso')) AS next
  LEFT JOIN (claimed c JOIN event e ON e.day >= ${dayText(since)} AND e.day = c.day AND e.id = c.event_id) ON true
  ORDER BY c.position`;

type Due = Pick<Claim, 'tookAll' | 'nextDueAt' | 'nextDueInMs'>;

/** If nothing was claimed, the statement returns one row. In this row only the fields of `Due` count; `day` is null. */
type ClaimedRow = Due & (ClaimedDelivery | { day: null });

async function claim(
  client: PoolClient,
  target: WebhookTarget,
  openSince: string,
  most: number,
  leaseMs: number,
): Promise<Due & Pick<Claim, 'deliveries'>> {
  const isPaused = target.estado === 'pausado';
  const { rows } = await client.query<ClaimedRow>({
    name: keptUnder('claim-deliveries', openSince),
    text: claimSql(openSince),
    values: [target.id, most, target.inFlightLimit, leaseMs / 1_000, isPaused],
  });
  const deliveries: ClaimedDelivery[] = [];
  for (const { tookAll, nextDueAt, nextDueInMs, ...row } of rows) if (row.day !== null) deliveries.push(row);
  const { tookAll, nextDueAt, nextDueInMs } = rows[0]!;
  return { deliveries, tookAll, nextDueAt, nextDueInMs };
}

/**
 * Holds deliveries of a paused webhook that a dead worker left in flight. No claim takes these deliveries during
 * the pause, so they must become `retenida` like the webhook's other deliveries. The webhook's row is locked. Otherwise
 * a resume at this moment would find these deliveries neither held nor due. A repeat changes nothing.
 * @param openSince the earliest day that may have an open delivery
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

/** Returns a day as an SQL literal for a lower bound. The comment of `keptUnder` explains why it is not a parameter. */
export function dayText(day: string): string {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(day)) throw new RangeError('a bound of days is no day');
  return `DATE '${day}'`;
}

/**
 * Returns the name under which a connection keeps the plan of a statement. The statement's text contains `since`, its
 * lower bound on the day. Returns undefined if PostgreSQL should plan the statement each time.
 *
 * The bound is no parameter, because PostgreSQL would then plan once over all days. Over 395 partitions of a day each,
 * which earlier releases made, such a plan took a second, locked seven thousand tables and indexes, and was worse. A
 * bound older than a week is rare (it comes from held deliveries), so its plan is not kept. A connection keeps plans
 * until it ends (maxLifetimeSeconds).
 */
export function keptUnder(statement: string, since: string): string | undefined {
  return since >= limaDay(new Date(Date.now() - weekMs)) ? `${statement} ${since}` : undefined;
}
