import type { Sanction } from '../../schemas/sanctions.ts';
import { isNoDate, writtenDay } from './dating.ts';

/** One known header of a file of bars, and how its rows read. */
export interface BarLayout {
  names: readonly string[];
  /** Cell of the supplier's id. */
  id: number;
  /** Cell of the file's cut-off date, the same in every row; null: the file has none. */
  cut: number | null;
  sanctionOf(cells: readonly string[]): Sanction;
}

/** Bars of the procurement tribunal, with the numbers and text of the infraction. */
export const tribunalLayout: BarLayout = {
  names:
    'FECHA_CORTE|RUC|NOMBRE_RAZONODENOMINACIONSOCIAL|FECHA_INICIO|FECHA_FIN|NUMERO_RESOLUCION|ID_MOTIVO_INFRACCION|DE_MOTIVO_INFRACCION'.split(
      '|',
    ),
  id: 1,
  cut: 0,
  sanctionOf: ([, , nombre, desde, hasta, resolucion, motivos, motivo]) => ({
    nombre: nombre!,
    desde: dayOrText(desde!),
    hasta: dayOrText(hasta!),
    resolucion: resolucion!,
    // A list that ends with a comma: `214,215,`.
    motivos: motivos!
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== ''),
    motivo: motivo!,
  }),
};

/** Bars by a judge. */
export const judicialLayout: BarLayout = {
  names:
    'FECHA_CORTE|RUC_DNI|NOMBRE_RAZONODENOMINACIONSOCIAL|ORGANO_JURISDICCIONAL|NUMERO_RESOLUCION|FECHA_INICIO|FECHA_FIN'.split(
      '|',
    ),
  id: 1,
  cut: 0,
  sanctionOf: ([, , nombre, organo, resolucion, desde, hasta]) =>
    judicial(nombre!, desde!, hasta!, resolucion!, organo!),
};

/** Another export of the judicial bars. Its `Periodo` repeats in words what the two dates say and is not kept. */
export const judicialExportLayout: BarLayout = {
  names:
    'RUC/DNI|RazonSocial/Nombre|NumeroResolucion|OrganoJurisdiccional|Periodo|FechaInicioInhabilitacion|FechaFinInhabilitacion'.split(
      '|',
    ),
  id: 0,
  cut: null,
  sanctionOf: ([, nombre, resolucion, organo, , desde, hasta]) =>
    judicial(nombre!, desde!, hasta!, resolucion!, organo!),
};

function judicial(nombre: string, desde: string, hasta: string, resolucion: string, organo: string): Sanction {
  return { nombre, desde: dayOrText(desde), hasta: dayOrText(hasta), resolucion, organo };
}

function dayOrText(text: string): string | null {
  return isNoDate(text) ? null : (writtenDay(text) ?? text);
}
