import { displayCondicion, displayEstado } from '../../schemas/display-texts.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import type { EventKind, Register, RegisterName } from '../../schemas/registers.ts';
import { isCompany } from '../../schemas/ruc.ts';
import type { Change, Row } from '../changes/record.ts';
import { digest } from '../webhooks/delivery-log.ts';
import type { ListSnapshot } from './lists.ts';

/** A change of one watched field, before it is known which lists and webhooks it concerns. */
export interface FieldEvent {
  evento: EventKind;
  /**
   * One of three names:
   * - the column that changed
   * - `ruc`, if the RUC appeared in the daily register or disappeared from it
   * - `presence.field` of the register, if the RUC joined or left a list such as agentes de retención
   */
  campo: string;
  antes: string | boolean | null;
  despues: string | boolean | null;
}

/** Whether changes of the register can make events. If they cannot, `watch` need not read the register's records. */
export function makesEvents(register: Register): boolean {
  return register.presence !== undefined || register.columns.some(({ event }) => event !== undefined);
}

/** The order of fields in which the events of one RUC and edition are sent. An event of `ruc` is sent before these. */
const fieldOrder = ['estado', 'condicion', 'nombre'];

/**
 * Returns the events of a change in the order in which they are sent. Equal changes must give equal events. Otherwise a
 * batch that is read again would make new events.
 * @param lastKnown the row that the RUC had before it last disappeared; used only when the RUC appears again
 */
export function eventsOf(register: Register, change: Change, lastKnown: Row | null): FieldEvent[] {
  // An `r` repeats a row that did not change, so it makes no event. Natural persons are never watched, even if a list
  // holds their RUC.
  if (change.op === 'r' || !isCompany(change.ruc)) return [];
  if (change.op === 'u') return fieldEvents(register, change.before, change.after);
  const presence = presenceEvents(register.presence, change.ruc, change.op === 'c');
  if (change.op === 'd' || lastKnown === null) return presence;
  return [...presence, ...fieldEvents(register, lastKnown, change.after)];
}

function presenceEvents(presence: Register['presence'], ruc: string, appears: boolean): FieldEvent[] {
  if (presence === undefined) return [];
  if (presence !== 'taxpayer') {
    return [{ evento: presence.event, campo: presence.field, antes: !appears, despues: appears }];
  }
  return appears
    ? [{ evento: 'ruc.alta', campo: 'ruc', antes: null, despues: ruc }]
    : [{ evento: 'ruc.baja', campo: 'ruc', antes: ruc, despues: null }];
}

function fieldEvents(register: Register, before: Row | null, after: Row | null): FieldEvent[] {
  if (before === null || after === null) return [];
  const events: FieldEvent[] = [];
  for (const { name, event } of register.columns) {
    if (event === undefined) continue;
    const antes = displayed(name, before[name] ?? '');
    const despues = displayed(name, after[name] ?? '');
    if (comparable(antes) !== comparable(despues)) events.push({ evento: event, campo: name, antes, despues });
  }
  return events.sort((a, b) => fieldOrder.indexOf(a.campo) - fieldOrder.indexOf(b.campo));
}

/** Removes differences that a reader does not see: spaces at the ends, doubled spaces, and the coding of accents. */
function comparable(shown: string | null): string | null {
  return shown === null ? null : shown.normalize('NFC').replace(/\s+/g, ' ').trim();
}

/** Returns the column's value as look-ups show it. Null: the register carries no value. */
function displayed(column: string, value: string): string | null {
  if (column === 'estado') return displayEstado(value);
  if (column === 'condicion') return displayCondicion(value);
  return value.trim() === '' ? null : value;
}

export interface EventFacts {
  id: string;
  register: RegisterName;
  edition: number;
  ruc: string;
  field: FieldEvent;
  /** The list as it was when the event was made. */
  list: ListSnapshot;
  fechaDato: string;
  ocurridoEn: Date;
  /**
   * Null unless a correction made the event. `edicion` is the wrong edition. `evento` is the id of the event that this
   * event corrects, or null if the wrong edition made no such event.
   */
  correccion: { edicion: number; evento: string | null } | null;
}

/**
 * Returns an event's id, a hash of its facts. A batch that is read again gives equal ids, so its stored events are
 * recognised. The id has no dots, because dots separate the parts of the signed text.
 */
export function eventId(register: RegisterName, edition: number, ruc: string, campo: string, listId: number): string {
  return `ev_${digest(`${register}:${edition}:${ruc}:${campo}:${listId}`)}`;
}

/** Returns the event's JSON body exactly as it is stored, signed and sent. */
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
