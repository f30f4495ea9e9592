import { createHash } from 'node:crypto';
import type { DeliveryState } from '../../schemas/http/events.ts';
import type { Pool } from '../runtime/postgres.ts';

/**
 * Returns the id of the delivery of an event to a webhook. Every attempt sends the id as X-Service-Delivery. The id
 * contains the delivery's day (YYMMDD), so its partition is known without a search. The id has no
 * longer run of digits than these six. Otherwise paths and logs would mask the run as a RUC.
 * @param day the day of the partition, YYYY-MM-DD
 */
export function deliveryId(day: string, event: string, webhookId: string): string {
  return `en_${day.slice(2).replaceAll('-', '')}_${digest(`${event}:${webhookId}`)}`;
}

const idWithDay = /^en_([0-9]{2})([0-9]{2})([0-9]{2})_[A-Za-z0-9_-]{22}$/;

/** Returns the day in a delivery's id as YYYY-MM-DD; null if the day is invalid or an earlier release made the id. */
export function dayInDeliveryId(id: string): string | null {
  const [, year, month, date] = idWithDay.exec(id) ?? [];
  if (year === undefined) return null;
  const day = `20${year}-${month}-${date}`;
  const at = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day) ? day : null;
}

/**
 * Returns 128 bits of SHA-256 as base64url: 22 characters, none of them a dot. In the signed text, a dot separates the
 * delivery's id from the time.
 */
export function digest(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest().subarray(0, 16).toString('base64url');
}

export interface LoggedDelivery {
  day: string;
  id: string;
  webhookId: string;
  eventId: string;
  /** One of the seven kinds of event, or `ping` for a test. */
  evento: string;
  estado: DeliveryState;
  attempts: number;
  createdAt: Date;
  /** `createdAt` in microseconds since 1970. With a Date's milliseconds, pages would repeat or skip some deliveries. */
  createdMicros: number;
  nextAttemptAt: Date | null;
}

export type DeliveryPlace = Pick<LoggedDelivery, 'createdMicros' | 'id'>;

export interface DeliveryFilter {
  estado?: DeliveryState | undefined;
  /** Earliest creation time, included. */
  from?: Date | undefined;
  /** Latest creation time, excluded. */
  before?: Date | undefined;
  after: DeliveryPlace | null;
}

type DeliveryRow = Omit<LoggedDelivery, 'evento'>;

const columns = `d.day, d.id, d.webhook_id AS "webhookId", d.event_id AS "eventId", d.estado, d.intentos AS attempts,
  d.created_at AS "createdAt", (extract(epoch FROM d.created_at) * 1000000)::bigint AS "createdMicros",
  CASE WHEN d.estado = 'pendiente' THEN d.next_due_at END AS "nextAttemptAt"`;

/**
 * Returns a webhook's deliveries, newest first. A delivery that is created between two calls belongs before the first
 * page, so later pages repeat no delivery.
 */
export async function pageDeliveries(
  pool: Pool,
  webhookId: string,
  { estado, from, before, after }: DeliveryFilter,
  limit: number,
): Promise<LoggedDelivery[]> {
  const { rows } = await pool.query<DeliveryRow>(
    `SELECT ${columns} FROM delivery d
     WHERE d.webhook_id = $1 AND ($2::text IS NULL OR d.estado = $2)
       AND d.created_at >= coalesce($3, '-infinity'::timestamptz) AND d.created_at < coalesce($4, 'infinity'::timestamptz)
       AND (d.created_at, d.id) < (coalesce('epoch'::timestamptz + $5::double precision * interval '1 microsecond',
         'infinity'::timestamptz), coalesce($6, ''))
     ORDER BY d.created_at DESC, d.id DESC LIMIT $7`,
    [webhookId, estado ?? null, from ?? null, before ?? null, after?.createdMicros ?? null, after?.id ?? null, limit],
  );
  return withEvents(pool, rows);
}

/** Returns null if the account has no such delivery, or if the delivery was removed when its retention ended. */
export async function readDelivery(pool: Pool, accountId: number, id: string): Promise<LoggedDelivery | null> {
  const day = await dayOfDelivery(pool, id);
  if (day === null) return null;
  const { rows } = await pool.query<DeliveryRow>(
    `SELECT ${columns} FROM delivery d WHERE d.day = $1 AND d.id = $2 AND d.account_id = $3`,
    [day, id, accountId],
  );
  return (await withEvents(pool, rows))[0] ?? null;
}

/**
 * Returns the day in the delivery's id. Ids of earlier releases have no day, so their day is searched, newest first.
 * Returns null if no partition has the delivery. An index by id alone would find it faster, but every attempt would have
 * to write to the index.
 */
export async function dayOfDelivery(pool: Pool, id: string): Promise<string | null> {
  return dayInDeliveryId(id) ?? searchDays(pool, id);
}

async function searchDays(pool: Pool, id: string): Promise<string | null> {
  const { rows } = await pool.query<{ day: string }>(
    `SELECT days.day FROM (
       SELECT d::date AS day FROM event_partitions('delivery') p
       CROSS JOIN generate_series(p.first_day::timestamp, p.end_day - 1, '1 day') AS d ORDER BY 1 DESC) AS days
     CROSS JOIN LATERAL (SELECT 1 FROM delivery d WHERE d.day = days.day AND d.id = $1 OFFSET 0) AS found LIMIT 1`,
    [id],
  );
  return rows[0]?.day ?? null;
}

export interface LoggedAttempt {
  number: number;
  startedAt: Date;
  /** null while the attempt is in flight or if its outcome is unknown. */
  durationMs: number | null;
  httpStatus: number | null;
  /** Class of the failure; null after a success and while the attempt is in flight. */
  failure: string | null;
  /** The beginning of the answer's body; null if none was stored. */
  response: Buffer | null;
  /** True if `response` is not the whole body, because the body was longer or broke off. */
  responseCut: boolean;
}

/** The last `maxAttempts` attempts of a delivery, oldest first. Attempts whose retention has ended are missing. */
export async function readAttempts(
  pool: Pool,
  delivery: Pick<LoggedDelivery, 'day' | 'id'>,
  maxAttempts: number,
): Promise<LoggedAttempt[]> {
  const { rows } = await pool.query<LoggedAttempt>(
    `SELECT a.number, a.started_at AS "startedAt", a.duration_ms AS "durationMs", a.http_status AS "httpStatus",
       CASE WHEN d.estado = 'en_curso' AND d.lease_until > now() AND a.number = d.intentos THEN NULL ELSE a.failure END AS failure,
       a.response, a.response_cut AS "responseCut"
     FROM attempt a JOIN delivery d ON d.day = $1 AND d.id = a.delivery_id
     WHERE a.day = $1 AND a.delivery_id = $2 ORDER BY a.number DESC LIMIT $3`,
    [delivery.day, delivery.id, maxAttempts],
  );
  return rows.reverse();
}

/** Returns the body that every attempt of a delivery sends, exactly as it is signed. */
export async function readBodyOf(
  pool: Pool,
  { day, eventId }: Pick<LoggedDelivery, 'day' | 'eventId'>,
): Promise<string> {
  const { rows } = await pool.query<{ payload: string }>('SELECT payload FROM event WHERE day = $1 AND id = $2', [
    day,
    eventId,
  ]);
  // The retention removes an event together with its deliveries.
  return rows[0]?.payload ?? '';
}

/** How a webhook's finished deliveries of one day in Lima ended. Tests are left out. */
export interface DayOfDeliveries {
  day: string;
  delivered: number;
  failed: number;
}

/** Returns the deliveries that ended on each day since `from`, by the day of their events, oldest first. */
export async function deliveriesPerDay(pool: Pool, webhookId: string, from: string): Promise<DayOfDeliveries[]> {
  const { rows } = await pool.query<DayOfDeliveries>(
    `SELECT day, count(*) FILTER (WHERE estado = 'entregada') AS delivered,
       count(*) FILTER (WHERE estado = 'agotada') AS failed
     FROM delivery WHERE webhook_id = $1 AND day >= $2 AND NOT is_test GROUP BY day ORDER BY day`,
    [webhookId, from],
  );
  return rows;
}

async function withEvents(pool: Pool, rows: readonly DeliveryRow[]): Promise<LoggedDelivery[]> {
  if (rows.length === 0) return [];
  const { rows: events } = await pool.query<{ id: string; evento: string }>(
    'SELECT id, evento FROM event WHERE day = ANY($1::date[]) AND id = ANY($2)',
    [[...new Set(rows.map(({ day }) => day))], rows.map(({ eventId }) => eventId)],
  );
  const kinds = new Map(events.map(({ id, evento }) => [id, evento]));
  return rows.map((row) => ({ ...row, evento: kinds.get(row.eventId)! }));
}
