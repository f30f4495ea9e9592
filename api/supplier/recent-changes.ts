import type { HistoryEntry } from '../../schemas/http/history.ts';
import type { PastEditions } from '../catalogue.ts';
import { storeUnavailable } from '../problems.ts';
import type { FindHistory } from '../queries/history.ts';
import type { RegisterChanges } from '../queries/register-changes.ts';

/** A change of the daily register that a check tells: of a watched value, or that the RUC appeared (`campo` is ruc). */
export interface RecentChange {
  fechaDato: string;
  campo: (typeof toldFields)[number];
  antes: string | null;
  despues: string | null;
}

const toldFields = ['ruc', 'nombre', 'estado', 'condicion'] as const;

/** Newest first. @param since the first day (YYYY-MM-DD) that counts */
export type FindRecentChanges = (ruc: string, since: string) => Promise<RecentChange[]>;

export interface RecentChangesParts {
  past: PastEditions;
  changes: RegisterChanges;
  findHistory: FindHistory;
}

/** More than all registers together can say of one RUC within the days that count as recent. */
const maxEntries = 500;

/** Most RUCs did not change lately, which the names of their changes tell in one query; only then the changes are read. */
export function makeFindRecentChanges({ past, changes, findHistory }: RecentChangesParts): FindRecentChanges {
  return async (ruc, since) => {
    const keys = await changes.keys(ruc).catch((error: unknown) => {
      throw storeUnavailable(error);
    });
    const daily = keys.filter(({ register }) => register === 'padron_reducido');
    const facts = await past.facts(daily.map(({ register, edition }) => ({ register, number: edition })));
    if (!daily.some(({ register, edition }) => facts(register, edition).fechaDato >= since)) return [];
    const found = await findHistory(ruc, { after: null, maxEntries });
    return found.isFound ? recentChangesIn(found.entries, since) : [];
  };
}

/** Corrections are this service's, not the taxpayer's: they and what they undid are left out. */
export function recentChangesIn(entries: readonly HistoryEntry[], since: string): RecentChange[] {
  const undone = new Set(entries.flatMap(undoneBy));
  return entries.flatMap((entry) => {
    const { registro, fecha_dato, operacion, antes, despues, correccion } = entry;
    const campo = toldFields.find((name) => name === entry.campo);
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
