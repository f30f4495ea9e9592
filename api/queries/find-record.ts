import type { TaxpayerRecord } from '../../schemas/http/taxpayer.ts';
import { registers } from '../../schemas/registers.ts';
import type { UbigeoCatalogue } from '../../schemas/ubigeo/catalogue.ts';
import type { Catalogue, ServedRegister, ServedRegisters } from '../catalogue.ts';
import { registerNotLoaded, storeUnavailable } from '../problems.ts';
import { makeHeldRegisters } from './held-registers.ts';
import { type RecordRegister, type RecordSources, recordRegisters, recordSourcesOf } from './record-sources.ts';
import { taxpayerRecordOf } from './taxpayer-record.ts';
import type { StoredRow } from './taxpayer-rows.ts';
import type { Taxpayers } from './taxpayers.ts';

/** `daily` is the edition of the daily register that says so. */
export type FoundRecord =
  | { isFound: false; daily: ServedRegister }
  | { isFound: true; daily: ServedRegister; data: TaxpayerRecord; sources: RecordSources };

/**
 * A taxpayer's record from all its registers. Whether there is one is the daily register's word alone; the others add to it.
 * @throws ApiProblem padron_no_disponible while the daily register was never loaded, servicio_no_disponible
 */
export type FindRecord = (ruc: string) => Promise<FoundRecord>;

export interface FindRecordParts {
  catalogue: Catalogue;
  taxpayers: Taxpayers;
  ubigeos: UbigeoCatalogue;
  /** Called for each record whose ubigeo the catalogue does not know. */
  countUnknownUbigeo(): void;
}

export function makeFindRecord({ catalogue, taxpayers, ubigeos, countUnknownUbigeo }: FindRecordParts): FindRecord {
  const held = makeHeldRegisters(taxpayers);
  return async (ruc) => {
    // Before the query and never after: see api/catalogue.ts.
    const before = await catalogue.snapshot();
    if (before.padron_reducido === undefined) throw registerNotLoaded();
    const stored = await taxpayers.find(ruc).catch(unavailable);
    held.note(ruc, stored);
    const rows = rowsByRegister(stored);
    const editions = await editionsOf(catalogue, before, rows);
    const daily = editions.padron_reducido!;
    const row = rows.padron_reducido;
    if (row === undefined || row.isDeleted) {
      if (row === undefined) await held.require(['padron_reducido']).catch(unavailable);
      return { isFound: false, daily };
    }
    const absent = recordRegisters.filter((name) => editions[name] !== undefined && rows[name] === undefined);
    await held.require(absent).catch(unavailable);
    const data = taxpayerRecordOf(
      ruc,
      {
        padron_reducido: row.cells,
        padron_mensual: isListed(editions, rows, 'padron_mensual') === true ? rows.padron_mensual!.cells : null,
        agentes_retencion: isListed(editions, rows, 'agentes_retencion'),
        buenos_contribuyentes: isListed(editions, rows, 'buenos_contribuyentes'),
      },
      ubigeos,
    );
    if (data.ubigeo !== null && data.distrito === null) countUnknownUbigeo();
    return { isFound: true, daily, data, sources: recordSourcesOf(daily, editions) };
  };
}

type RowsByRegister = Partial<Record<RecordRegister, StoredRow>>;

function rowsByRegister(rows: readonly StoredRow[]): RowsByRegister {
  const found: RowsByRegister = {};
  for (const row of rows) {
    const name = recordRegisterOf.get(row.register);
    if (name !== undefined) found[name] = row;
  }
  return found;
}

const recordRegisterOf = new Map(recordRegisters.map((name) => [registers[name].code, name]));

/** null: the register was never loaded; rows of a first edition that is still being written are a part of it and say nothing. */
function isListed(editions: ServedRegisters, rows: RowsByRegister, name: RecordRegister): boolean | null {
  if (editions[name] === undefined) return null;
  const row = rows[name];
  return row !== undefined && !row.isDeleted;
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
