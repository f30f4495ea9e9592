import type { DeliveryState } from '../../schemas/http/events.ts';
import type { Pool } from '../runtime/postgres.ts';
import { dayInDeliveryId } from './delivery-id.ts';

export interface LoggedDelivery {
  day: string;
  id: string;
  webhookId: string;
  eventId: string;
  /** One of the seven kinds, or `ping`. */
  evento: string;
  estado: DeliveryState;
  /** Attempts made in all. */
  attempts: number;
  createdAt: Date;
  /** null: no attempt is due. */
  nextAttemptAt: Date | null;
  place: DeliveryPlace;
}

/** Where a delivery stands among those of its webhook. Microseconds of Unix time: a Date would round them, and a page would repeat or skip. */
export interface DeliveryPlace {
  createdMicros: number;
  id: string;
}

export interface DeliveryFilter {
  estado?: DeliveryState | undefined;
  /** Made at or after. */
  from?: Date | undefined;
  /** Made before. */
  before?: Date | undefined;
  after: DeliveryPlace | null;
}

interface DeliveryRow {
  day: string;
  id: string;
  webhook_id: string;
  event_id: string;
  estado: DeliveryState;
  intentos: number;
  created_at: Date;
  created_micros: number;
  next_due_at: Date | null;
}

const columns = `d.day, d.id, d.webhook_id, d.event_id, d.estado, d.intentos, d.created_at,
  (extract(epoch FROM d.created_at) * 1000000)::bigint AS created_micros,
  CASE WHEN d.estado = 'pendiente' THEN d.next_due_at END AS next_due_at`;

/** A webhook's deliveries, newest first. New ones come before the first page: who follows the pages sees each at most once. */
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
    [
      webhookId,
      estado ?? null,
      from ?? null,
      before ?? null,
      after === null ? null : after.createdMicros,
      after === null ? null : after.id,
      limit,
    ],
  );
  return withEvents(pool, rows);
}

/** null: the account has no such delivery, or its time is over. */
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
 * The partition that holds the delivery, if there is such a delivery; null: there is none. Ids of earlier releases say
 * nothing about their day: each is looked at by its own index, the newest first, until it is found, since an index over all
 * days would cost every attempt a write.
 */
export async function dayOfDelivery(pool: Pool, id: string): Promise<string | null> {
  return dayInDeliveryId(id) ?? searchDays(pool, id);
}

async function searchDays(pool: Pool, id: string): Promise<string | null> {
  const { rows } = await pool.query<{ day: string }>(
    `SELECT days.day FROM (
       SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS day FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
       WHERE i.inhparent = 'delivery'::regclass AND c.relname ~ '_[0-9]{8}$' ORDER BY 1 DESC) AS days
     CROSS JOIN LATERAL (SELECT 1 FROM delivery d WHERE d.day = days.day AND d.id = $1 OFFSET 0) AS found LIMIT 1`,
    [id],
  );
  return rows[0]?.day ?? null;
}

export interface LoggedAttempt {
  number: number;
  startedAt: Date;
  /** null: under way, or its outcome is unknown. */
  durationMs: number | null;
  httpStatus: number | null;
  /** A class; null after a success and while it is under way. */
  failure: string | null;
  /** What came of the answer's body, as much as is kept. */
  response: Buffer | null;
  /** It was longer, or it broke off. */
  responseCut: boolean;
}

/** The last attempts, oldest first; those past their time are gone. */
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

async function withEvents(pool: Pool, rows: readonly DeliveryRow[]): Promise<LoggedDelivery[]> {
  if (rows.length === 0) return [];
  const { rows: events } = await pool.query<{ id: string; evento: string }>(
    'SELECT id, evento FROM event WHERE day = ANY($1::date[]) AND id = ANY($2)',
    [[...new Set(rows.map(({ day }) => day))], rows.map(({ event_id }) => event_id)],
  );
  const kinds = new Map(events.map(({ id, evento }) => [id, evento]));
  return rows.map((row) => ({
    day: row.day,
    id: row.id,
    webhookId: row.webhook_id,
    eventId: row.event_id,
    evento: kinds.get(row.event_id)!,
    estado: row.estado,
    attempts: row.intentos,
    createdAt: row.created_at,
    nextAttemptAt: row.next_due_at,
    place: { createdMicros: row.created_micros, id: row.id },
  }));
}
