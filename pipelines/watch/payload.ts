import { createHash } from 'node:crypto';
import { limaTime } from '../../schemas/lima-time.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { FieldEvent } from './match.ts';

/** The list as it was when the event was made. */
export interface ListSnapshot {
  id: number;
  nombre: string;
  referencia: string | null;
}

export interface EventFacts {
  id: string;
  register: RegisterName;
  edition: number;
  ruc: string;
  field: FieldEvent;
  list: ListSnapshot;
  fechaDato: string;
  ocurridoEn: Date;
  correccion: Correccion | null;
}

/** As it stands in the body: which edition was wrong, and the event that told it wrongly; null where none was made. */
export interface Correccion {
  edicion: number;
  evento: string | null;
}

/**
 * The event's id: the same change, column and list always have the same one, so a repeat finds the event there.
 * 128 bits of SHA-256; no dots, because ids are joined by dots in what is signed.
 */
export function eventId(register: RegisterName, edition: number, ruc: string, campo: string, listId: number): string {
  return `ev_${digest(`${register}:${edition}:${ruc}:${campo}:${listId}`)}`;
}

/**
 * The delivery's id: one per event and webhook; X-Service-Delivery of every attempt. It begins with the day of its
 * partition as YYMMDD, for who knows the id alone. No more digits than these stand together: a longer run would be masked
 * in paths and logs as somebody's RUC.
 * @param day YYYY-MM-DD
 */
export function deliveryId(day: string, event: string, webhookId: string): string {
  return `en_${day.slice(2).replaceAll('-', '')}_${digest(`${event}:${webhookId}`)}`;
}

const idWithDay = /^en_([0-9]{2})([0-9]{2})([0-9]{2})_[A-Za-z0-9_-]{22}$/;

/** The day that a delivery's id holds, YYYY-MM-DD. null: it holds none, as ids of earlier releases, or no day that there is. */
export function dayInDeliveryId(id: string): string | null {
  const [, year, month, date] = idWithDay.exec(id) ?? [];
  if (year === undefined) return null;
  const day = `20${year}-${month}-${date}`;
  const at = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day) ? day : null;
}

/** The body as it is stored, signed and sent: these bytes and no others. */
export function payloadOf(event: EventFacts, position: number): string {
  return JSON.stringify({
    id: event.id,
    posicion: position,
    evento: event.field.evento,
    ocurrido_en: limaTime(event.ocurridoEn),
    datos: {
      ruc: event.ruc,
      campo: event.field.campo,
      antes: event.field.antes,
      despues: event.field.despues,
      fecha_dato: event.fechaDato,
    },
    watchlist: event.list,
    correccion: event.correccion,
  });
}

function digest(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest().subarray(0, 16).toString('base64url');
}
