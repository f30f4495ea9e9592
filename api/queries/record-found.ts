import type { TaxpayerRecord } from '../../schemas/http/taxpayer.ts';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import type { UbigeoCatalogue } from '../../schemas/ubigeo/catalogue.ts';
import type { ServedRegister, ServedRegisters } from '../catalogue.ts';
import { type RecordRegister, type RecordSources, recordSourcesOf } from './record-sources.ts';
import { taxpayerRecordOf } from './taxpayer-record.ts';
import type { StoredRow } from './taxpayer-rows.ts';

/** `daily` is the edition of the daily register that says so. */
export type FoundRecord =
  | { isFound: false; daily: ServedRegister }
  | { isFound: true; daily: ServedRegister; data: TaxpayerRecord; sources: RecordSources };

/** What a register holds of the RUC; left out: it does not have it, or was not loaded. */
export type CellsByRegister = Partial<Record<RegisterName, readonly string[]>>;
export type RowsByRegister = Partial<Record<RegisterName, StoredRow>>;

export interface RecordParts {
  ubigeos: UbigeoCatalogue;
  /** Called for each record whose ubigeo the catalogue does not know. */
  countUnknownUbigeo(): void;
}

/** The record that these cells make; `editions` must have the daily register. Whether there is one is that register's word. */
export function recordFound(
  ruc: string,
  editions: ServedRegisters,
  cells: CellsByRegister,
  { ubigeos, countUnknownUbigeo }: RecordParts,
): FoundRecord {
  const daily = editions.padron_reducido!;
  if (cells.padron_reducido === undefined) return { isFound: false, daily };
  // null: the register was not loaded; rows of a first edition that is still being written are a part of it and say nothing.
  const isListed = (name: RecordRegister) => (editions[name] === undefined ? null : cells[name] !== undefined);
  const rows = {
    padron_reducido: cells.padron_reducido,
    padron_mensual: editions.padron_mensual === undefined ? null : (cells.padron_mensual ?? null),
    agentes_retencion: isListed('agentes_retencion'),
    buenos_contribuyentes: isListed('buenos_contribuyentes'),
  };
  const data = taxpayerRecordOf(ruc, rows, ubigeos);
  if (data.ubigeo !== null && data.distrito === null) countUnknownUbigeo();
  return { isFound: true, daily, data, sources: recordSourcesOf(daily, editions) };
}

export function rowsByRegister(rows: readonly StoredRow[]): RowsByRegister {
  const found: RowsByRegister = {};
  for (const row of rows) {
    const name = nameOf.get(row.register);
    if (name !== undefined) found[name] = row;
  }
  return found;
}

/**
 * Those of the registers, if loaded, that never had the RUC: before an answer says so, the store must be asked whether it holds them. Where the
 * daily register does not have the RUC, what the others hold changes nothing.
 */
export function absentFrom(
  names: readonly RegisterName[],
  editions: ServedRegisters,
  rows: RowsByRegister,
  cells: CellsByRegister,
): RegisterName[] {
  const absent = names.filter((name) => editions[name] !== undefined && rows[name] === undefined);
  return cells.padron_reducido === undefined ? absent.filter((name) => name === 'padron_reducido') : absent;
}

const nameOf = new Map(Object.values(registers).map(({ code, name }) => [code, name]));
