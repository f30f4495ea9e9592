import { displayCondicion, displayEstado } from '../../schemas/display-texts.ts';
import type { EventKind, Register } from '../../schemas/registers.ts';
import { isCompany } from '../../schemas/ruc.ts';
import type { Change, Row } from '../stream/codec.ts';

/** What one change says to whoever watches its RUC, before lists and webhooks are known. */
export interface FieldEvent {
  evento: EventKind;
  /** The register's column, or `ruc` for alta and baja. */
  campo: string;
  antes: string | null;
  despues: string | null;
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
  if (change.op === 'd') return [{ evento: 'ruc.baja', campo: 'ruc', antes: change.ruc, despues: null }];
  if (change.op === 'c') {
    const alta: FieldEvent = { evento: 'ruc.alta', campo: 'ruc', antes: null, despues: change.ruc };
    return [alta, ...(lastKnown === null ? [] : fieldEvents(register, lastKnown, change.after))];
  }
  return fieldEvents(register, change.before, change.after);
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
export function comparable(value: string): string {
  return value.normalize('NFC').replace(/\s+/g, ' ').trim();
}

function displayed(column: string, value: string): string | null {
  // A RUC whose column was empty until now: nothing stood there before.
  if (value.trim() === '') return null;
  if (column === 'estado') return displayEstado(value);
  return column === 'condicion' ? displayCondicion(value) : value;
}
