import { type CurrentRows, makeReadCurrentRows } from '../queries/current-rows.ts';
import type { FindRecordParts } from '../queries/find-record.ts';
import { type FoundRecord, recordFound } from '../queries/record-found.ts';
import { supplierRegisters } from './registers.ts';

/** The record and what the lists and bars say, all of one read. */
export type FoundSupplier = CurrentRows & { record: FoundRecord };

/** @throws ApiProblem padron_no_disponible while the daily register was never loaded, servicio_no_disponible */
export type FindSupplier = (ruc: string) => Promise<FoundSupplier>;

export function makeFindSupplier(parts: FindRecordParts): FindSupplier {
  const read = makeReadCurrentRows(parts, supplierRegisters);
  return async (ruc) => {
    const { editions, cells } = await read(ruc);
    return { editions, cells, record: recordFound(ruc, editions, cells, parts) };
  };
}
