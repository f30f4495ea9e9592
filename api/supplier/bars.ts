import type { z } from 'zod';
import type { Bar, ProcurementStanding } from '../../schemas/http/supplier.ts';
import { type RegisterName, sancionados } from '../../schemas/registers.ts';
import { inForce, type Sanction, sanctionsOf } from '../../schemas/sanctions.ts';
import type { apiConfiguration } from '../config.ts';
import { type CellsByRegister, recordRegisters } from '../queries/record.ts';

/** The registers of bars from state contracting. They name suppliers by their RUC, among other ids. */
export const barRegisters = ['sancionados', 'inhabilitaciones_judiciales', 'inhabilitaciones_administrativas'] as const;
type BarRegister = (typeof barRegisters)[number];

/** All that a supplier check looks at. */
export const supplierRegisters = [...recordRegisters, ...barRegisters] as const;

/** A sanction and the register that names it. */
export interface NamedSanction extends Sanction {
  fuente: BarRegister;
}

// The registers of bars have the same columns.
const sanctionsAt = sancionados.columns.findIndex(({ name }) => name === 'sanciones');

/** All sanctions that the registers hold of a supplier, the latest start first. */
export function sanctionsIn(cells: CellsByRegister): NamedSanction[] {
  const named = barRegisters.flatMap((fuente) =>
    sanctionsOf(cells[fuente]?.[sanctionsAt] ?? '[]').map((sanction) => ({ ...sanction, fuente })),
  );
  return named.sort((one, other) => (other.desde ?? '').localeCompare(one.desde ?? ''));
}

/**
 * Whether the supplier is barred on `day`. A negative is a claim of the sources that were read: without one that is
 * required, or with a sanction whose days cannot be read, nothing is claimed.
 * @param isMissing a required register of bars was never loaded
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

/** A court's bar has no reason in the source but the court that ordered it. */
function reasonOf({ motivo, organo }: NamedSanction): string | null {
  if (motivo !== undefined && motivo !== '') return motivo;
  return organo === undefined || organo === '' ? null : `Mandato judicial: ${organo}`;
}

/** Where a supplier check begins to warn. Settings: SUPPLIER_… of api/config.ts. */
export interface SupplierThresholds {
  /** A check without one of these is not determined. */
  required: readonly RegisterName[];
  /** A change of the record this many days old, or newer, is told. */
  recentChangeDays: number;
  /** As long after its last day a bar is still told. */
  recentBarDays: number;
  /** Data older than this are told as late. */
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
