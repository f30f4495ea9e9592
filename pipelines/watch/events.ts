import type { EventKind } from '../../schemas/registers.ts';
import type { PoolClient, Queryable } from '../runtime/postgres.ts';
import { deliveryId } from '../webhooks/delivery-log.ts';
import { correccionOf, mustReceive, type TakenBack, takeBack } from './corrections.ts';
import { type EventFacts, payloadOf } from './match.ts';

/** PostgreSQL channel on which an account's id is sent whenever new events of the account are committed. */
export const eventChannel = 'account_events';

/** An event of one account before it has a position in the account's history. */
export interface AccountEvent extends Omit<EventFacts, 'correccion'> {
  accountId: number;
}

export interface Written {
  /** Number of events that this call inserted. A repeat of the batch inserts none. */
  events: number;
  deliveries: number;
  /** Number of unsent deliveries that this call cancelled, because a correction took their events back. */
  cancelled: number;
  /** Active webhooks that have deliveries of this batch, whether this call or an earlier one inserted them. */
  webhookIds: readonly string[];
}

/**
 * Writes events and their deliveries in the caller's transaction and in the given order. All events are of one edition,
 * which was detected on `day`. A repeated batch changes nothing.
 *
 * New events take the next positions of their account. First, the account's row in account_position is locked until the
 * transaction ends, so no other transaction can give positions of this account. Otherwise a reader that has seen
 * position n could miss a smaller position that is committed later. Stored events take no new position, so no gap
 * appears.
 *
 * An event of a correction names the event that it takes back (the wrong event). It goes only to the webhooks that
 * `takeBack` returns for the wrong event: their receivers may still believe it.
 * @param wrong the changes that a correction takes back, even for RUCs on no list; null for an ordinary edition
 */
export async function writeEvents(
  client: PoolClient,
  day: string,
  detectedAt: Date,
  events: readonly AccountEvent[],
  wrong: TakenBack | null,
): Promise<Written> {
  const accounts = [...new Set(events.map((event) => event.accountId))].sort((a, b) => a - b);
  const positions = await lockPositions(client, accounts);
  const present = await client.query<{ id: string }>('SELECT id FROM event WHERE day = $1 AND id = ANY($2)', [
    day,
    events.map((event) => event.id),
  ]);
  const known = new Set(present.rows.map((row) => row.id));
  // A batch holds a record twice if the producer died after the broker stored the record, and the next run of the
  // producer sent it again.
  const once = [...new Map(events.map((event) => [event.id, event])).values()];
  const webhooks = await lockSubscribers(client, accounts, detectedAt);
  const originals = wrong === null ? null : await takeBack(client, wrong);
  const fresh = once
    .filter((event) => !known.has(event.id))
    .map((event): PlacedEvent => {
      const position = positions.get(event.accountId)! + 1;
      positions.set(event.accountId, position);
      return { ...event, position, correccion: originals === null ? null : correccionOf(originals, event) };
    });
  if (fresh.length > 0) {
    await insertEvents(client, day, fresh);
    await client.query(
      `UPDATE account_position p SET last_position = n.position
       FROM unnest($1::bigint[], $2::bigint[]) AS n (account_id, position) WHERE p.account_id = n.account_id`,
      [[...positions.keys()], [...positions.values()]],
    );
    const changed = [...new Set(fresh.map(({ accountId }) => String(accountId)))];
    await client.query('SELECT pg_notify($1, account) FROM unnest($2::text[]) AS account', [eventChannel, changed]);
  }
  const receives = (webhook: Subscriber, event: AccountEvent) =>
    originals === null ? takesEvent(webhook, event) : mustReceive(originals, webhook.id, event);
  const deliveries = await insertDeliveries(client, day, fresh, webhooks, receives);
  const active = webhooks.filter(({ estado }) => estado === 'activo');
  const webhookIds = active.filter((webhook) => events.some((event) => receives(webhook, event))).map(({ id }) => id);
  return { events: fresh.length, deliveries, cancelled: originals?.cancelled ?? 0, webhookIds };
}

/**
 * Locks the accounts' rows in account_position and returns each account's last position. The rows are locked in order
 * of account id. Otherwise two batches could deadlock.
 */
async function lockPositions(client: PoolClient, accounts: readonly number[]): Promise<Map<number, number>> {
  await client.query(
    'INSERT INTO account_position (account_id) SELECT unnest($1::bigint[]) ON CONFLICT (account_id) DO NOTHING',
    [accounts],
  );
  const { rows } = await client.query<{ account_id: number; last_position: number }>(
    `SELECT account_id, last_position FROM account_position WHERE account_id = ANY($1)
     ORDER BY account_id FOR UPDATE`,
    [accounts],
  );
  return new Map(rows.map((row) => [row.account_id, row.last_position]));
}

type PlacedEvent = AccountEvent & EventFacts & { position: number };

async function insertEvents(client: PoolClient, day: string, events: readonly PlacedEvent[]): Promise<void> {
  const { rowCount } = await client.query(
    `INSERT INTO event (day, id, account_id, position, list_id, evento, register, edition, ruc, fecha_dato, ocurrido_en, payload)
     SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::bigint[],
       $9::text[], $10::date[], $11::timestamptz[], $12::text[])
     ON CONFLICT (day, id) DO NOTHING`,
    [
      day,
      events.map((event) => event.id),
      events.map((event) => event.accountId),
      events.map((event) => event.position),
      events.map((event) => event.list.id),
      events.map((event) => event.field.evento),
      events.map((event) => event.register),
      events.map((event) => event.edition),
      events.map((event) => event.ruc),
      events.map((event) => event.fechaDato),
      events.map((event) => event.ocurridoEn),
      events.map((event) => payloadOf(event, event.position)),
    ],
  );
  // A skipped insert would leave a position without an event. None is skipped, because the accounts are locked.
  if (rowCount !== events.length) throw new Error('an event appeared while its account was locked');
}

async function insertDeliveries(
  client: PoolClient,
  day: string,
  events: readonly PlacedEvent[],
  webhooks: readonly Subscriber[],
  receives: (webhook: Subscriber, event: PlacedEvent) => boolean,
): Promise<number> {
  const wanted = events.flatMap((event) =>
    webhooks.filter((webhook) => receives(webhook, event)).map((webhook) => ({ event, webhook })),
  );
  if (wanted.length === 0) return 0;
  const { rowCount } = await client.query(
    `INSERT INTO delivery (day, id, event_id, webhook_id, account_id, ruc, position, estado, next_due_at)
     SELECT $1, d.*, CASE WHEN d.estado = 'pendiente' THEN now() END
     FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::text[])
       AS d (id, event_id, webhook_id, account_id, ruc, position, estado)
     ON CONFLICT (day, id) DO NOTHING`,
    [
      day,
      wanted.map(({ event, webhook }) => deliveryId(day, event.id, webhook.id)),
      wanted.map(({ event }) => event.id),
      wanted.map(({ webhook }) => webhook.id),
      wanted.map(({ event }) => event.accountId),
      wanted.map(({ event }) => event.ruc),
      wanted.map(({ event }) => event.position),
      wanted.map(({ webhook }) => (webhook.estado === 'activo' ? 'pendiente' : 'retenida')),
    ],
  );
  return rowCount ?? 0;
}

/** The columns of a webhook that decide which events it receives. */
export interface Subscriber {
  id: string;
  account_id: number;
  eventos: EventKind[] | null;
  listas: number[] | null;
  estado: 'activo' | 'pausado';
}

/**
 * Returns the webhooks that existed when the edition was detected, and locks them until this transaction ends. A pause
 * or a deletion waits for the lock and then finds the new deliveries. Otherwise a paused webhook could keep a pending
 * delivery.
 */
async function lockSubscribers(
  client: PoolClient,
  accounts: readonly number[],
  detectedAt: Date,
): Promise<Subscriber[]> {
  const { rows } = await client.query<Subscriber>(`${selectSubscribers} FOR SHARE`, [accounts, detectedAt]);
  return rows;
}

/** Returns the same webhooks without locking them, for a count that writes nothing. */
export async function readSubscribers(
  database: Queryable,
  accounts: readonly number[],
  detectedAt: Date,
): Promise<Subscriber[]> {
  const { rows } = await database.query<Subscriber>(selectSubscribers, [accounts, detectedAt]);
  return rows;
}

const selectSubscribers = `SELECT id, account_id, eventos, to_json(listas) AS listas, estado FROM webhook
  WHERE account_id = ANY($1) AND deleted_at IS NULL AND created_at <= $2 ORDER BY id`;

/** Whether the webhook gets an event of an ordinary edition (no correction): account and filters must fit the event. */
export function takesEvent(webhook: Subscriber, event: AccountEvent): boolean {
  return (
    webhook.account_id === event.accountId &&
    (webhook.eventos === null || webhook.eventos.includes(event.field.evento)) &&
    (webhook.listas === null || webhook.listas.includes(event.list.id))
  );
}
