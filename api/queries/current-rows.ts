import type { RegisterName } from '../../schemas/registers.ts';
import type { Catalogue, ServedRegisters } from '../catalogue.ts';
import { registerNotLoaded, storeUnavailable } from '../problems.ts';
import { makeHeldRegisters } from './held-registers.ts';
import { absentFrom, type CellsByRegister, type RowsByRegister, rowsByRegister } from './record-found.ts';
import type { Taxpayers } from './taxpayers.ts';

/** What registers hold of a RUC now, and the editions that say so; the daily register is among them. */
export interface CurrentRows {
  editions: ServedRegisters;
  cells: CellsByRegister;
}

export interface CurrentRowsParts {
  catalogue: Catalogue;
  taxpayers: Taxpayers;
}

/**
 * Reads the RUC's rows of all registers at once and answers for the named ones.
 * @throws ApiProblem padron_no_disponible while the daily register was never loaded, servicio_no_disponible
 */
export function makeReadCurrentRows(
  { catalogue, taxpayers }: CurrentRowsParts,
  names: readonly RegisterName[],
): (ruc: string) => Promise<CurrentRows> {
  const held = makeHeldRegisters(taxpayers);
  return async (ruc) => {
    // Before the query and never after: see api/catalogue.ts.
    const before = await catalogue.snapshot();
    if (before.padron_reducido === undefined) throw registerNotLoaded();
    const stored = await taxpayers.find(ruc).catch(unavailable);
    held.note(ruc, stored);
    const rows = rowsByRegister(stored);
    const editions = await editionsOf(catalogue, before, rows, names);
    const cells: CellsByRegister = {};
    for (const name of names) {
      const row = rows[name];
      if (row !== undefined && !row.isDeleted) cells[name] = row.cells;
    }
    await held.require(absentFrom(names, editions, rows, cells)).catch(unavailable);
    return { editions, cells };
  };
}

/** The snapshot, with the later edition of each register whose row is from one that is being written. */
async function editionsOf(
  catalogue: Catalogue,
  before: ServedRegisters,
  rows: RowsByRegister,
  names: readonly RegisterName[],
): Promise<ServedRegisters> {
  let editions = before;
  for (const name of names) {
    const served = before[name];
    const row = rows[name];
    if (served === undefined || row === undefined || row.version <= served.edition.number) continue;
    editions = { ...editions, [name]: await catalogue.servedFor(served, row.version) };
  }
  return editions;
}

function unavailable(error: unknown): never {
  throw storeUnavailable(error);
}
