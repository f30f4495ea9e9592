import type { Bar, ProcurementStanding } from '../../schemas/http/supplier.ts';
import { sancionados } from '../../schemas/registers.ts';
import { inForce, type Sanction, sanctionsOf } from '../../schemas/sanctions.ts';
import type { CellsByRegister } from '../queries/record-found.ts';
import { type BarRegister, barRegisters } from './registers.ts';

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
