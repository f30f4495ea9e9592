import type { DeliveryState } from '../../schemas/http/events.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { Pool } from '../runtime/postgres.ts';

export interface EventFilter {
  /** Only events after this position of the account are returned. It is 0 for the first page. */
  after: number;
  /** First and last detection day in Lima, both included. Only the partitions of these days are read. */
  fromDay?: string | undefined;
  toDay?: string | undefined;
  from?: Date | undefined;
  /** Only events that occurred before this time are returned. */
  before?: Date | undefined;
  ruc?: string | undefined;
  evento?: string | undefined;
  list?: number | undefined;
}

export interface EventRow {
  day: string;
  id: string;
  position: number;
  /** The event's JSON text, exactly as it is signed and sent to webhooks. */
  payload: string;
}

interface EventDelivery {
  webhook: string;
  estado: DeliveryState;
}

/**
 * Returns a page of an account's events in order of position. A reader that continues after the last position misses no
 * event, because events that are committed later always have higher positions (`writeEvents`).
 */
export async function pageEvents(
  pool: Pool,
  accountId: number,
  filter: EventFilter,
  limit: number,
): Promise<(EventRow & { deliveries: EventDelivery[] })[]> {
  const rows = await pagePayloads(pool, accountId, filter, limit);
  const deliveries = await deliveriesOf(pool, rows);
  return rows.map((event) => ({
    ...event,
    deliveries: (deliveries.get(event.id) ?? []).map(({ webhook, estado }) => ({ webhook, estado })),
  }));
}

export async function pagePayloads(
  pool: Pool,
  accountId: number,
  filter: EventFilter,
  limit: number,
): Promise<EventRow[]> {
  const { text, values } = filterSql(accountId, filter);
  const { rows } = await pool.query<EventRow>(
    `SELECT day, id, position, payload FROM event WHERE ${text} ORDER BY position LIMIT $${values.length + 1}`,
    [...values, limit],
  );
  return rows;
}

/** What caused an event: the edition of a register, and the official file that it was made from. */
export interface EventCause {
  register: RegisterName;
  edition: number;
  fechaDato: string;
  /** Null only when the catalogue has lost the edition. */
  publishedAt: Date | null;
  detectedAt: Date | null;
  /** Hash of the official file. Null: a correction caused the event, which has no file. */
  sha256: string | null;
  /** The edition that took the event back, if one did. */
  takenBackBy: number | null;
}

export type CausedEvent = EventRow & { cause: EventCause; deliveries: (EventDelivery & { id: string })[] };

/**
 * Returns a page of an account's events with their causes, the newest first. A reader continues with `before`, the
 * position of the last one. Events that come meanwhile are before the first page.
 */
export async function pageNewestEvents(
  pool: Pool,
  accountId: number,
  { before, ...filter }: Omit<EventFilter, 'after' | 'before'> & { before: number | null; until?: Date | undefined },
  limit: number,
): Promise<CausedEvent[]> {
  const { until, ...others } = filter;
  const { text, values } = filterSql(accountId, { ...others, after: 0, before: until });
  values.push(before, limit);
  const { rows } = await pool.query<EventRow & EventCause>(
    `SELECT v.day, v.id, v.position, v.payload, v.register, v.edition, v.taken_back_by AS "takenBackBy",
       v.fecha_dato AS "fechaDato", e.published_at AS "publishedAt", e.detected_at AS "detectedAt", p.sha256
     FROM (SELECT * FROM event WHERE ${text} AND position < coalesce($${values.length - 1}, 9223372036854775807)
           ORDER BY position DESC LIMIT $${values.length}) AS v
     LEFT JOIN edition e ON e.register = v.register AND e.number = v.edition
     LEFT JOIN publication p ON p.id = e.publication_id ORDER BY v.position DESC`,
    values,
  );
  const deliveries = await deliveriesOf(pool, rows);
  return rows.map(({ day, id, position, payload, ...cause }) => ({
    day,
    id,
    position,
    payload,
    cause,
    deliveries: deliveries.get(id) ?? [],
  }));
}

/** The position of the account's last event, or 0 if it has none. */
export async function lastPosition(pool: Pool, accountId: number): Promise<number> {
  const { rows } = await pool.query<{ last_position: number }>(
    'SELECT last_position FROM account_position WHERE account_id = $1',
    [accountId],
  );
  return rows[0]?.last_position ?? 0;
}

function filterSql(accountId: number, filter: EventFilter): { text: string; values: unknown[] } {
  const values: unknown[] = [accountId, filter.after];
  const conditions = ['account_id = $1', 'position > $2'];
  const add = (sql: string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(`${sql} $${values.length}`);
  };
  add('day >=', filter.fromDay);
  add('day <=', filter.toDay);
  add('ocurrido_en >=', filter.from);
  add('ocurrido_en <', filter.before);
  add('ruc =', filter.ruc);
  add('evento =', filter.evento);
  add('list_id =', filter.list);
  return { text: conditions.join(' AND '), values };
}

async function deliveriesOf(
  pool: Pool,
  events: readonly EventRow[],
): Promise<Map<string, (EventDelivery & { id: string })[]>> {
  const found = new Map<string, (EventDelivery & { id: string })[]>();
  if (events.length === 0) return found;
  // A delivery is in the partition of its event's day. With the days, PostgreSQL reads only these events' partitions.
  const { rows } = await pool.query<{ event_id: string; id: string } & EventDelivery>(
    `SELECT event_id, id, webhook_id AS webhook, estado FROM delivery WHERE day = ANY($1::date[]) AND event_id = ANY($2)
     ORDER BY webhook_id`,
    [[...new Set(events.map((event) => event.day))], events.map((event) => event.id)],
  );
  for (const { event_id, ...delivery } of rows) {
    found.set(event_id, [...(found.get(event_id) ?? []), delivery]);
  }
  return found;
}
