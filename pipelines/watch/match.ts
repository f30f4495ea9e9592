import { displayCondicion, displayEstado } from '../../schemas/display-texts.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import type { EventKind, Register, RegisterName } from '../../schemas/registers.ts';
import { isCompany } from '../../schemas/ruc.ts';
import type { Change, Row } from '../changes/record.ts';
import { digest } from '../webhooks/delivery-id.ts';

/** What one change says to whoever watches its RUC, before lists and webhooks are known. */
export interface FieldEvent {
  evento: EventKind;
  /** The register's column; `ruc` for alta and baja; the field of the taxpayer that a list is about. */
  campo: string;
  antes: string | boolean | null;
  despues: string | boolean | null;
}

/** Whether anything of the register is ever told: records of any other need not even be looked at. */
export function makesEvents(register: Register): boolean {
  return register.presence !== undefined || register.columns.some(({ event }) => event !== undefined);
}

/** The order in which the events of one RUC and edition leave; `ruc` comes before all of them. */
const fieldOrder = ['estado', 'condicion', 'nombre'];

/**
 * The events of a change, in order. Pure: the same change always gives the same events, which is what lets a batch be
 * handled twice.
 * @param lastKnown the RUC's last row before it disappeared; only looked at when it appears
 */
export function eventsOf(register: Register, change: Change, lastKnown: Row | null): FieldEvent[] {
  // A baseline is state without news; natural persons are never watched, whatever a list holds.
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
    const [antes, despues] = [before[name] ?? '', after[name] ?? ''];
    if (comparable(antes) === comparable(despues)) continue;
    events.push({ evento: event, campo: name, antes: displayed(name, antes), despues: displayed(name, despues) });
  }
  return events.sort((a, b) => fieldOrder.indexOf(a.campo) - fieldOrder.indexOf(b.campo));
}

/** Two values that a reader would not tell apart are the same: spaces at the ends, doubled spaces, composed accents. */
function comparable(value: string): string {
  return value.normalize('NFC').replace(/\s+/g, ' ').trim();
}

function displayed(column: string, value: string): string | null {
  // A RUC whose column was empty until now: nothing stood there before.
  if (value.trim() === '') return null;
  if (column === 'estado') return displayEstado(value);
  return column === 'condicion' ? displayCondicion(value) : value;
}

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
