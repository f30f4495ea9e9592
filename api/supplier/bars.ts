import type { z } from 'zod';
import type { Bar, ProcurementStanding } from '../../schemas/http/supplier.ts';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import { inForce, type Sanction, sanctionsOf } from '../../schemas/sanctions.ts';
import type { apiConfiguration } from '../config.ts';
import { type CellsByRegister, recordRegisters } from '../queries/record.ts';

/** The registers of suppliers that are barred from state contracting. They name suppliers by RUC or by another id. */
export const barRegisters = ['sancionados', 'inhabilitaciones_judiciales', 'inhabilitaciones_administrativas'] as const;
type BarRegister = (typeof barRegisters)[number];

export const supplierRegisters = [...recordRegisters, ...barRegisters] as const;

/** A sanction and the register that names it. */
export interface NamedSanction extends Sanction {
  fuente: BarRegister;
}

// All registers in `barRegisters` have the same columns.
const sanctionsAt = registers.sancionados.columns.findIndex(({ name }) => name === 'sanciones');

/** A supplier's sanctions in all registers, the latest start first. */
export function sanctionsIn(cells: CellsByRegister): NamedSanction[] {
  const named = barRegisters.flatMap((fuente) =>
    sanctionsOf(cells[fuente]?.[sanctionsAt] ?? '[]').map((sanction) => ({ ...sanction, fuente })),
  );
  return named.sort((one, other) => (other.desde ?? '').localeCompare(one.desde ?? ''));
}

/**
 * Returns whether the supplier is barred on `day`. "Not barred" is a claim about all required sources. So without a
 * sanction that is known to be in force, the result is `no_determinado` in two cases: a required source is missing, or
 * the days of a sanction cannot be read.
 * @param isMissing whether a required register of bars was never loaded
 */
export function procurementResult(
  sanctions: readonly NamedSanction[],
  day: string,
  isMissing: boolean,
): ProcurementStanding['resultado'] {
  const verdicts = sanctions.map((sanction) => inForce(sanction, day));
  if (verdicts.includes(true)) return 'inhabilitado';
  if (isMissing || verdicts.includes(null)) return 'no_determinado';
  return sanctions.length === 0 ? 'no_figura' : 'sin_sancion_vigente';
}

export function shownBar(sanction: NamedSanction, day: string): Bar {
  const { desde, hasta, resolucion, fuente } = sanction;
  const definitiva = hasta === null;
  return { desde, hasta, definitiva, vigente: inForce(sanction, day), resolucion, motivo: reasonOf(sanction), fuente };
}

/** The source gives no reason for a court's bar, so the court that ordered it is shown. */
function reasonOf({ motivo, organo }: NamedSanction): string | null {
  if (motivo !== undefined && motivo !== '') return motivo;
  return organo === undefined || organo === '' ? null : `Mandato judicial: ${organo}`;
}

/** The settings SUPPLIER_… of api/config.ts, which decide when a supplier check warns. */
export interface SupplierThresholds {
  /** When one of these registers was never loaded, a check cannot result in `sin_observaciones`. */
  required: readonly RegisterName[];
  /** A change of the record is reported for this many days after its date. */
  recentChangeDays: number;
  /** An ended bar is reported for this many days after its last day. */
  recentBarDays: number;
  /** Age in days above which data are reported as late. */
  maxDataAgeDays: { daily: number; monthly: number; lists: number };
}

export function maxAgeDays(register: RegisterName, { maxDataAgeDays }: SupplierThresholds): number {
  if (register === 'padron_reducido') return maxDataAgeDays.daily;
  return register === 'padron_mensual' ? maxDataAgeDays.monthly : maxDataAgeDays.lists;
}

export function supplierThresholdsOf(config: z.output<typeof apiConfiguration>): SupplierThresholds {
  return {
    required: config.SUPPLIER_REQUIRED_REGISTERS,
    recentChangeDays: config.SUPPLIER_RECENT_CHANGE_DAYS,
    recentBarDays: config.SUPPLIER_RECENT_BAR_DAYS,
    maxDataAgeDays: {
      daily: config.SUPPLIER_MAX_DAILY_AGE_DAYS,
      monthly: config.SUPPLIER_MAX_MONTHLY_AGE_DAYS,
      lists: config.SUPPLIER_MAX_LIST_AGE_DAYS,
    },
  };
}
