import type { RegisterName } from '../../schemas/registers.ts';
import type { PoolClient } from '../runtime/postgres.ts';
import { lockWork } from '../webhooks/work.ts';
import { type Correccion, type EventFacts, eventId } from './match.ts';

/** What a correction takes back: an edition's changes of some RUCs. */
export interface TakenBack {
  register: RegisterName;
  /** The edition that was wrong. */
  edition: number;
  /** Its detection day in Lima: where its events stand. */
  day: string;
  /** The edition that corrects it. */
  by: number;
  rucs: readonly string[];
}

export interface Originals {
  /** The edition that was wrong. */
  edition: number;
  /** Ids of the events that the wrong edition made of these RUCs, whoever watches them now. */
  events: ReadonlySet<string>;
  /** Webhooks that must hear what becomes of an event, by its id: it was attempted there, or what it corrected never was. */
  receivers: ReadonlyMap<string, ReadonlySet<string>>;
  /** Deliveries that this call cancelled. */
  cancelled: number;
}

/**
 * Cancels what was not sent yet of the events that an edition made, and tells who was told of the others. In the caller's
 * transaction, between the locks of positions and the writing of deliveries.
 *
 * "Sent" is "claimed at least once": a receiver may have an attempt whose outcome nobody knows. A claim comes before and
 * counts, or after and finds the delivery cancelled. The work rows are locked first, as a claim does: the caller raises
 * some of them later, and would wait for a claim that waits for these deliveries.
 * The events say from here on that they were taken back: nothing of them is sent again by hand (resend.ts).
 * Repeatable: a second call finds nothing left to cancel and says the same of the rest.
 */
export async function takeBack(client: PoolClient, wrong: TakenBack): Promise<Originals> {
  const { rows } = await client.query<{ event_id: string; delivery_id: string | null; webhook_id: string | null }>(
    `SELECT e.id AS event_id, d.id AS delivery_id, d.webhook_id
     FROM event e LEFT JOIN delivery d ON d.day = $1 AND d.event_id = e.id
     WHERE e.day = $1 AND e.register = $2 AND e.edition = $3 AND e.ruc = ANY($4)`,
    [wrong.day, wrong.register, wrong.edition, wrong.rucs],
  );
  const events = new Set(rows.map(({ event_id }) => event_id));
  const webhooks = [...new Set(rows.flatMap(({ webhook_id }) => webhook_id ?? []))];
  const deliveries = rows.flatMap(({ delivery_id }) => delivery_id ?? []);
  await client.query('SELECT 1 FROM webhook WHERE id = ANY($1) ORDER BY id FOR SHARE', [webhooks]);
  await lockWork(client, webhooks);
  await client.query(
    `UPDATE event SET taken_back_by = $3 WHERE day = $1 AND id = ANY($2) AND taken_back_by IS DISTINCT FROM $3`,
    [wrong.day, [...events], wrong.by],
  );
  const cancelled = await client.query(
    `UPDATE delivery SET estado = 'cancelada', next_due_at = NULL, finished_at = now()
     WHERE day = $1 AND id = ANY($2) AND intentos = 0 AND estado IN ('pendiente', 'retenida', 'descartada')`,
    [wrong.day, deliveries],
  );
  return {
    edition: wrong.edition,
    events,
    receivers: await receiversOf(client, wrong, deliveries),
    cancelled: cancelled.rowCount ?? 0,
  };
}

type Corrected = Pick<EventFacts, 'register' | 'ruc' | 'field' | 'list'>;

/** What an event of the correction says of the one that it corrects. Alta and baja correct each other: both are of `ruc`. */
export function correccionOf(originals: Originals, event: Corrected): Correccion {
  const id = originalIdOf(originals, event);
  return { edicion: originals.edition, evento: originals.events.has(id) ? id : null };
}

/**
 * Whether the webhook may believe something else than what the correction makes true. Then it hears the correction too,
 * whatever kinds it takes.
 */
export function mustReceive(originals: Originals, webhookId: string, event: Corrected): boolean {
  return originals.receivers.get(originalIdOf(originals, event))?.has(webhookId) ?? false;
}

function originalIdOf({ edition }: Originals, { register, ruc, field, list }: Corrected): string {
  return eventId(register, edition, ruc, field.campo, list.id);
}

/**
 * Attempted deliveries of the wrong events; and where these correct others themselves, the deliveries of the latter that were
 * cancelled unsent: such a receiver heard neither, so it still believes what was before both, and that is wrong again.
 */
async function receiversOf(
  client: PoolClient,
  { day, register, edition }: TakenBack,
  deliveries: readonly string[],
): Promise<Map<string, Set<string>>> {
  const { rows } = await client.query<{ event_id: string; webhook_id: string }>(
    `SELECT event_id, webhook_id FROM delivery WHERE day = $1 AND id = ANY($2) AND intentos > 0
     UNION ALL
     SELECT e.id, d.webhook_id
     FROM edition wrong
     JOIN edition first ON first.register = wrong.register AND first.number = wrong.corrects
     JOIN event e ON e.day = $1 AND e.register = $3 AND e.edition = $4
     JOIN delivery d ON d.day = (first.detected_at AT TIME ZONE 'America/Lima')::date
       AND d.event_id = e.payload::json -> 'correccion' ->> 'evento' AND d.intentos = 0 AND d.estado = 'cancelada'
     WHERE wrong.register = $3 AND wrong.number = $4`,
    [day, deliveries, register, edition],
  );
  const receivers = new Map<string, Set<string>>();
  for (const { event_id, webhook_id } of rows) {
    receivers.set(event_id, (receivers.get(event_id) ?? new Set()).add(webhook_id));
  }
  return receivers;
}
