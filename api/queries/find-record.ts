import { type CurrentRowsParts, makeReadCurrentRows } from './current-rows.ts';
import { type FoundRecord, type RecordParts, recordFound } from './record-found.ts';
import { recordRegisters } from './record-sources.ts';

/**
 * A taxpayer's record from all its registers. Whether there is one is the daily register's word alone; the others add to it.
 * @throws ApiProblem padron_no_disponible while the daily register was never loaded, servicio_no_disponible
 */
export type FindRecord = (ruc: string) => Promise<FoundRecord>;

export type FindRecordParts = RecordParts & CurrentRowsParts;

export function makeFindRecord(parts: FindRecordParts): FindRecord {
  const read = makeReadCurrentRows(parts, recordRegisters);
  return async (ruc) => {
    const { editions, cells } = await read(ruc);
    return recordFound(ruc, editions, cells, parts);
  };
}
