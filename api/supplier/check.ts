import type { ListStanding, ProcurementStanding, SupplierCheck, SupplierResult } from '../../schemas/http/supplier.ts';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import type { ServedRegisters } from '../catalogue.ts';
import { type CurrentRows, type FindRecordDependencies, makeReadCurrentRows } from '../queries/current-rows.ts';
import { type FoundRecord, recordFound } from '../queries/record.ts';
import {
  barRegisters,
  procurementResult,
  type SupplierThresholds,
  sanctionsIn,
  shownBar,
  supplierRegisters,
} from './bars.ts';
import type { RecentChange } from './recent-changes.ts';
import { type SupplierFacts, warningsOf } from './warnings.ts';

export interface CheckInput extends CurrentRows, Pick<SupplierFacts, 'record' | 'today' | 'givenDay'> {
  changes: readonly RecentChange[];
  lists: SupplierCheck['vigilado']['listas'];
}

/** Makes the supplier check from its arguments alone, without a store or a clock. */
export function supplierCheckOf(input: CheckInput, thresholds: SupplierThresholds): SupplierCheck {
  const { record, editions, cells, today, givenDay, changes, lists } = input;
  const sanctions = sanctionsIn(loadedOnly(cells, editions));
  const evaluatedOn = givenDay ?? today;
  const isMissing = (names: readonly RegisterName[]) => names.some((name) => editions[name] === undefined);
  const { required } = thresholds;
  const procurement: ProcurementStanding = {
    resultado: procurementResult(sanctions, evaluatedOn, isMissing(required.filter(isBarRegister))),
    evaluado_al: evaluatedOn,
    sanciones: sanctions.map((sanction) => shownBar(sanction, evaluatedOn)),
    fuentes: barRegisters.flatMap((name) => editions[name]?.source ?? []),
  };
  const dates = Object.fromEntries(Object.values(editions).map(({ source }) => [source.registro, source.fecha_dato]));
  const warnings = warningsOf({ record, sanctions, changes, dates, today, givenDay }, thresholds);
  const isUndetermined = isMissing(required) || procurement.resultado === 'no_determinado' || !carriesStatus(record);
  return {
    ruc: record.ruc,
    resultado: resultOf(warnings, isUndetermined),
    registro: record,
    agente_retencion: listStanding('agentes_retencion', input),
    buen_contribuyente: listStanding('buenos_contribuyentes', input),
    contrataciones_estado: procurement,
    vigilado: { activo: lists.length > 0, listas: [...lists] },
    advertencias: warnings,
  };
}

/** A missing `estado` or `condicion` proves nothing: the taxpayer may be BAJA or NO HABIDO all the same. */
function carriesStatus({ estado, condicion }: SupplierFacts['record']): boolean {
  return estado !== null && condicion !== null;
}

function resultOf(warnings: SupplierCheck['advertencias'], isUndetermined: boolean): SupplierResult {
  if (warnings.some(({ severidad }) => severidad !== 'info')) return 'con_observaciones';
  return isUndetermined ? 'no_determinado' : 'sin_observaciones';
}

// The registers agentes_retencion and buenos_contribuyentes have the same columns.
const columnAt = (name: string) => registers.agentes_retencion.columns.findIndex((column) => column.name === name);
const sinceAt = columnAt('desde');
const resolutionAt = columnAt('resolucion');

function listStanding(
  name: 'agentes_retencion' | 'buenos_contribuyentes',
  { editions, cells }: CurrentRows,
): ListStanding {
  const served = editions[name];
  if (served === undefined) return { figura: null, desde: null, resolucion: null, fecha_padron: null };
  const row = cells[name];
  return {
    figura: row !== undefined,
    desde: row?.[sinceAt] || null,
    resolucion: row?.[resolutionAt] || null,
    fecha_padron: served.edition.fechaDato,
  };
}

/** Leaves out rows of an unfinished first edition, because such rows are incomplete and prove nothing. */
function loadedOnly(cells: CurrentRows['cells'], editions: ServedRegisters): CurrentRows['cells'] {
  return Object.fromEntries(Object.entries(cells).filter(([name]) => editions[name as RegisterName] !== undefined));
}

function isBarRegister(name: RegisterName): boolean {
  return (barRegisters as readonly RegisterName[]).includes(name);
}

/** The record, the lists and the bars of a supplier, from one read. */
export type FoundSupplier = CurrentRows & { record: FoundRecord };

/** @throws ApiProblem servicio_no_disponible, or padron_no_disponible until the daily register is first loaded */
export type FindSupplier = (ruc: string) => Promise<FoundSupplier>;

export function makeFindSupplier(dependencies: FindRecordDependencies): FindSupplier {
  const read = makeReadCurrentRows(dependencies, supplierRegisters);
  return async (ruc) => {
    const { editions, cells } = await read(ruc);
    return { editions, cells, record: recordFound(ruc, editions, cells, dependencies) };
  };
}
