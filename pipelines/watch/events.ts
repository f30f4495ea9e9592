import type { EventKind } from '../../schemas/registers.ts';
import type { PoolClient } from '../runtime/postgres.ts';
import { deliveryId } from '../webhooks/delivery-id.ts';
import { correccionOf, mustReceive, type TakenBack, takeBack } from './corrections.ts';
import { type EventFacts, payloadOf } from './match.ts';

/** PostgreSQL channel that carries the id of an account whenever new events of it are committed. */
export const eventChannel = 'account_events';

/** An event that should stand in its account's history. */
export interface AccountEvent extends Omit<EventFacts, 'correccion'> {
  accountId: number;
}

export interface Written {
  /** Really new; a repeat of the batch writes none. */
  events: number;
  deliveries: number;
  /** Deliveries of an edition that was wrong, which are not sent any more. */
  cancelled: number;
  /** Active webhooks that the batch has deliveries for, new or not. */
  webhookIds: readonly string[];
}

/**
 * Writes events and their deliveries in the caller's transaction, all of one detection day and edition, in the given order.
 *
 * New events take the account's next positions. The counter row is locked first, so no other transaction can give a
 * position of this account before this one ends: a reader that has seen position n will never see a smaller one
 * appear. Only events that are not there yet take one: a repeat leaves no gap and moves nothing.
 *
 * The events of a correction say what they correct, and leave only for webhooks to which that was attempted (or, where it is a
 * correction itself, that never heard of what it corrected).
 * @param wrong what the edition takes back, watched or not any more; null for an ordinary edition
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
  // A record may stand in a batch twice: its producer died between the broker's answer and its own note of it.
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
    const wanted = [...new Set(fresh.map(({ accountId }) => String(accountId)))];
    await client.query('SELECT pg_notify($1, account) FROM unnest($2::text[]) AS account', [eventChannel, wanted]);
  }
  const receives = (webhook: Subscriber, event: AccountEvent) =>
    originals === null ? takesEvent(webhook, event) : mustReceive(originals, webhook.id, event);
  const deliveries = await insertDeliveries(client, day, fresh, webhooks, receives);
  const active = webhooks.filter(({ estado }) => estado === 'activo');
  const webhookIds = active.filter((webhook) => events.some((event) => receives(webhook, event))).map(({ id }) => id);
  return { events: fresh.length, deliveries, cancelled: originals?.cancelled ?? 0, webhookIds };
}

/** The last position of each account, locked in the order of ids so that two batches cannot wait for each other. */
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
  // Under the counter's lock nobody else can have written them: a conflict would be a position given away for nothing.
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

/** A webhook as far as it decides what it receives. */
interface Subscriber {
  id: string;
  account_id: number;
  eventos: EventKind[] | null;
  listas: number[] | null;
  estado: 'activo' | 'pausado';
}

interface Heard {
  accountId: number;
  field: { evento: EventKind };
  list: { id: number };
}

/**
 * The webhooks that existed when the edition was detected. Locked against a pause or a deletion until this transaction
 * ends: whoever pauses then sees these deliveries and holds them, so none is left pending on a paused webhook.
 */
async function lockSubscribers(
  client: PoolClient,
  accounts: readonly number[],
  detectedAt: Date,
): Promise<Subscriber[]> {
  const { rows } = await client.query<Subscriber>(
    `SELECT id, account_id, eventos, listas, estado FROM webhook
     WHERE account_id = ANY($1) AND deleted_at IS NULL AND created_at <= $2 ORDER BY id FOR SHARE`,
    [accounts, detectedAt],
  );
  // Elements of bigint arrays come as text.
  return rows.map((row) => ({ ...row, listas: row.listas === null ? null : row.listas.map(Number) }));
}

/** Whether an ordinary event goes to the webhook: one of its account that takes its kind and list. */
function takesEvent(webhook: Subscriber, event: Heard): boolean {
  return (
    webhook.account_id === event.accountId &&
    (webhook.eventos === null || webhook.eventos.includes(event.field.evento)) &&
    (webhook.listas === null || webhook.listas.includes(event.list.id))
  );
}
