import type { RegisterName } from '../../schemas/registers.ts';
import type { PoolClient } from '../runtime/postgres.ts';
import { lockWork } from '../webhooks/work.ts';
import { type EventFacts, eventId } from './match.ts';

/**
 * A wrong edition (`edition`), the later edition that corrects it (`by`), and the RUCs whose changes the correction
 * takes back here.
 */
export interface TakenBack {
  register: RegisterName;
  edition: number;
  /** The Lima day on which the wrong edition was detected. Its events are in the partition of this day. */
  day: string;
  /** The edition that corrects the wrong one. */
  by: number;
  rucs: readonly string[];
}

export interface Originals {
  edition: number;
  /** Ids of the events that the wrong edition made for `TakenBack.rucs`, even for a RUC that no list holds any more. */
  events: ReadonlySet<string>;
  /** For each event id, the webhooks that must get the correction of this event (see `receiversOf`). */
  receivers: ReadonlyMap<string, ReadonlySet<string>>;
  cancelled: number;
}

/**
 * Cancels the unsent deliveries of the wrong edition's events, and returns which webhooks must get the correction. The
 * caller must have locked the accounts' rows in account_position, and must not have written deliveries yet, because
 * locks are taken in the order account_position, webhook, webhook_work, delivery (webhooks/README.md, rule 4).
 *
 * - A delivery counts as sent once a worker has claimed it, because the outcome of an attempt may be unknown.
 * - This call locks the webhook_work rows before the deliveries, as a claim does. Otherwise the two could deadlock.
 * - It marks the events with `taken_back_by`. Nobody can send a marked event again by hand (webhooks/resend.ts).
 * - A repeat cancels nothing more and returns the same receivers.
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

/**
 * Returns the wrong edition's number, and the id of the wrong event that `event` corrects. The id is null if the wrong
 * edition made no event about this RUC, field and list. An alta can correct a baja and a baja an alta, because both are
 * about the field `ruc`.
 */
export function correccionOf(originals: Originals, event: Corrected): EventFacts['correccion'] {
  const id = originalIdOf(originals, event);
  return { edicion: originals.edition, evento: originals.events.has(id) ? id : null };
}

/**
 * Whether the webhook must get `event`, which corrects a wrong event. It must if its receiver may still believe the
 * wrong event (see `receiversOf`), whatever the webhook's filters are.
 */
export function mustReceive(originals: Originals, webhookId: string, event: Corrected): boolean {
  return originals.receivers.get(originalIdOf(originals, event))?.has(webhookId) ?? false;
}

function originalIdOf({ edition }: Originals, { register, ruc, field, list }: Corrected): string {
  return eventId(register, edition, ruc, field.campo, list.id);
}

/**
 * Finds the webhooks that must get the correction of a wrong event, by that event's id. There are two cases:
 * - The webhook has an attempted delivery of the wrong event.
 * - The wrong edition was itself the correction of an earlier edition. The webhook's delivery of the earlier event was
 *   cancelled unsent, so its receiver got neither event. The new correction brings back the earlier edition's state,
 *   which this receiver does not know.
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
