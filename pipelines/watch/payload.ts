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

/** The delivery's id: one per event and webhook; X-Service-Delivery of every attempt. */
export function deliveryId(event: string, webhookId: string): string {
  return `en_${digest(`${event}:${webhookId}`)}`;
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
