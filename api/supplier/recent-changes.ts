import type { HistoryEntry } from '../../schemas/http/history.ts';
import type { PastEditions } from '../catalogue.ts';
import { throwUnavailable } from '../problems.ts';
import type { FindHistory } from '../queries/history.ts';
import type { RegisterChanges } from '../queries/register-changes.ts';

/**
 * A change in the daily register that a supplier check reports. If `campo` is `ruc`, the RUC appeared in the register.
 * Otherwise the value of the field `campo` changed.
 */
export interface RecentChange {
  fechaDato: string;
  campo: (typeof reportedFields)[number];
  antes: string | null;
  despues: string | null;
}

const reportedFields = ['ruc', 'nombre', 'estado', 'condicion'] as const;

/** Finds recent changes, newest first. @param since the first day (YYYY-MM-DD) that counts */
export type FindRecentChanges = (ruc: string, since: string) => Promise<RecentChange[]>;

export interface RecentChangesDependencies {
  past: PastEditions;
  changes: RegisterChanges;
  findHistory: FindHistory;
}

/**
 * Largest number of history entries that are read. Since the first day that counts, a RUC has fewer entries, even in
 * all registers together.
 */
const maxEntries = 500;

/**
 * Most RUCs did not change lately, so a small query for the keys of changes comes first, and rows are read only for a
 * recent change.
 */
export function makeFindRecentChanges({ past, changes, findHistory }: RecentChangesDependencies): FindRecentChanges {
  return async (ruc, since) => {
    const keys = await changes.keys(ruc).catch(throwUnavailable);
    const daily = keys.filter(({ register }) => register === 'padron_reducido');
    const facts = await past.facts(daily.map(({ register, edition }) => ({ register, number: edition })));
    if (!daily.some(({ register, edition }) => facts(register, edition).fechaDato >= since)) return [];
    const found = await findHistory(ruc, { after: null, maxEntries });
    return found.isFound ? recentChangesIn(found.entries, since) : [];
  };
}

/**
 * Returns the recent changes among the entries. Corrections and the changes that they undid are left out, because both
 * come from a fault of this service and not from the taxpayer.
 */
export function recentChangesIn(entries: readonly HistoryEntry[], since: string): RecentChange[] {
  const undone = new Set(entries.flatMap(undoneBy));
  return entries.flatMap((entry) => {
    const { registro, fecha_dato, operacion, antes, despues, correccion } = entry;
    const campo = reportedFields.find((name) => name === entry.campo);
    if (registro !== 'padron_reducido' || campo === undefined || operacion === 'baja') return [];
    if (fecha_dato < since || correccion !== null || undone.has(placeOf(entry, fecha_dato))) return [];
    return [{ fechaDato: fecha_dato, campo, antes: textOf(antes), despues: textOf(despues) }];
  });
}

function undoneBy({ correccion, ...entry }: HistoryEntry): string[] {
  if (correccion === null) return [];
  return [placeOf({ ...entry, antes: entry.despues, despues: entry.antes }, correccion.fecha_dato)];
}

function placeOf(entry: Pick<HistoryEntry, 'registro' | 'campo' | 'antes' | 'despues'>, fechaDato: string): string {
  return JSON.stringify([entry.registro, fechaDato, entry.campo, entry.antes, entry.despues]);
}

function textOf(value: HistoryEntry['antes']): string | null {
  return typeof value === 'string' ? value : null;
}
