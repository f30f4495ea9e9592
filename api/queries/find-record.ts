import type { Catalogue, ServedRegisters } from '../catalogue.ts';
import { registerNotLoaded, storeUnavailable } from '../problems.ts';
import { makeHeldRegisters } from './held-registers.ts';
import {
  absentFrom,
  type CellsByRegister,
  type FoundRecord,
  type RecordParts,
  type RowsByRegister,
  recordFound,
  rowsByRegister,
} from './record-found.ts';
import { recordRegisters } from './record-sources.ts';
import type { Taxpayers } from './taxpayers.ts';

/**
 * A taxpayer's record from all its registers. Whether there is one is the daily register's word alone; the others add to it.
 * @throws ApiProblem padron_no_disponible while the daily register was never loaded, servicio_no_disponible
 */
export type FindRecord = (ruc: string) => Promise<FoundRecord>;

export interface FindRecordParts extends RecordParts {
  catalogue: Catalogue;
  taxpayers: Taxpayers;
}

export function makeFindRecord(parts: FindRecordParts): FindRecord {
  const { catalogue, taxpayers } = parts;
  const held = makeHeldRegisters(taxpayers);
  return async (ruc) => {
    // Before the query and never after: see api/catalogue.ts.
    const before = await catalogue.snapshot();
    if (before.padron_reducido === undefined) throw registerNotLoaded();
    const stored = await taxpayers.find(ruc).catch(unavailable);
    held.note(ruc, stored);
    const rows = rowsByRegister(stored);
    const editions = await editionsOf(catalogue, before, rows);
    const cells: CellsByRegister = {};
    for (const name of recordRegisters) {
      const row = rows[name];
      if (row !== undefined && !row.isDeleted) cells[name] = row.cells;
    }
    await held.require(absentFrom(editions, rows, cells)).catch(unavailable);
    return recordFound(ruc, editions, cells, parts);
  };
}

/** The snapshot, with the later edition of each register whose row is from one that is being written. */
async function editionsOf(
  catalogue: Catalogue,
  before: ServedRegisters,
  rows: RowsByRegister,
): Promise<ServedRegisters> {
  let editions = before;
  for (const name of recordRegisters) {
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
