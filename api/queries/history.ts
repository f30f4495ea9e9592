import type { HistoryEntry } from '../../schemas/http/history.ts';
import type { Source } from '../../schemas/http/taxpayer.ts';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import type { Catalogue, PastEditions, ServedRegister, ServedRegisters } from '../catalogue.ts';
import { registerNotLoaded, storeUnavailable } from '../problems.ts';
import { makeHeldRegisters } from './held-registers.ts';
import { type HistoryPlace, inOrder, pageOf } from './history-page.ts';
import { rowsByRegister } from './record-found.ts';
import { sourcesOf } from './record-sources.ts';
import type { ChangeKey, RegisterChanges } from './register-changes.ts';
import type { Taxpayers } from './taxpayers.ts';

/** `daily` is the edition of the daily register that the answer is of. */
export type FoundHistory =
  | { isFound: false; daily: ServedRegister }
  | {
      isFound: true;
      daily: ServedRegister;
      entries: HistoryEntry[];
      next: HistoryPlace | null;
      sources: HistorySources;
    };

/** Of all loaded registers. */
export interface HistorySources {
  fuentes: Source[];
  tag: string;
  lastModified: string;
}

/**
 * What the registers said of a RUC one after the other, newest first; `after` is the last entry that the caller has. A RUC that
 * the daily register never had is found when another register told of it.
 * @throws ApiProblem padron_no_disponible while the daily register was never loaded, servicio_no_disponible
 */
export type FindHistory = (
  ruc: string,
  page: { after: HistoryPlace | null; maxEntries: number },
) => Promise<FoundHistory>;

export interface HistoryParts {
  catalogue: Catalogue;
  past: PastEditions;
  taxpayers: Taxpayers;
  changes: RegisterChanges;
}

export function makeFindHistory({ catalogue, past, taxpayers, changes }: HistoryParts): FindHistory {
  const held = makeHeldRegisters(taxpayers);
  return async (ruc, { after, maxEntries }) => {
    // Before the query and never after: see api/catalogue.ts.
    const before = await catalogue.snapshot();
    if (before.padron_reducido === undefined) throw registerNotLoaded();
    const keys = await changes.keys(ruc).catch(unavailable);
    const editions = await editionsOf(catalogue, before, keys);
    const daily = editions.padron_reducido!;
    if (keys.length === 0 && !(await wasHeld(ruc))) return { isFound: false, daily };
    const facts = await past.facts(keys.map(({ register, edition }) => ({ register, number: edition })));
    const read = (wanted: readonly ChangeKey[]) => changes.read(ruc, wanted).catch(unavailable);
    const { entries, next } = await pageOf(ruc, inOrder(keys, facts), { after, maxEntries }, { read, past });
    return { isFound: true, daily, entries, next, sources: sourcesOf(registerNames, editions) };
  };

  /** A RUC that never changed has a row and no history. */
  async function wasHeld(ruc: string): Promise<boolean> {
    const rows = await taxpayers.find(ruc).catch(unavailable);
    held.note(ruc, rows);
    if (rowsByRegister(rows).padron_reducido !== undefined) return true;
    await held.require(['padron_reducido']).catch(unavailable);
    return false;
  }
}

/** The snapshot, with the later edition of each register that is being written and has already told of the RUC. */
async function editionsOf(
  catalogue: Catalogue,
  before: ServedRegisters,
  keys: readonly ChangeKey[],
): Promise<ServedRegisters> {
  const newest = new Map<RegisterName, number>();
  for (const { register, edition } of keys) newest.set(register, Math.max(edition, newest.get(register) ?? 0));
  const editions = { ...before };
  for (const [register, edition] of newest) {
    const served = before[register];
    if (served !== undefined) editions[register] = await catalogue.servedFor(served, edition);
  }
  return editions;
}

function unavailable(error: unknown): never {
  throw storeUnavailable(error);
}
