import type { Warning } from '../../schemas/http/supplier.ts';
import type { TaxpayerRecord } from '../../schemas/http/taxpayer.ts';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import { inForce } from '../../schemas/sanctions.ts';
import { isDay, toDate, toDayNumber } from '../calendar/days.ts';
import { maxAgeDays, type NamedSanction, type SupplierThresholds, supplierRegisters } from './bars.ts';
import type { RecentChange } from './recent-changes.ts';

/** The facts by which a supplier is judged. Days are YYYY-MM-DD. */
export interface SupplierFacts {
  record: TaxpayerRecord;
  sanctions: readonly NamedSanction[];
  changes: readonly RecentChange[];
  /** The date of each register's data, without registers that were never loaded. */
  dates: Readonly<Partial<Record<RegisterName, string>>>;
  /** The date in Lima. */
  today: string;
  /** A day that the caller named. Bars are judged for this day and for today. Null if he named no day. */
  givenDay: string | null;
}

/** Makes the warnings from its arguments alone, in the order of their codes in schemas/http/supplier.ts. */
export function warningsOf(facts: SupplierFacts, thresholds: SupplierThresholds): Warning[] {
  return [
    ...statusWarnings(facts.record),
    ...barWarnings(facts, thresholds),
    ...facts.changes.map(changeWarning),
    ...dateWarnings(facts, thresholds),
    ...missingWarnings(facts),
  ];
}

// Annulled and disqualified taxpayers are as inactive as cancelled taxpayers, and have no warning code of their own.
const notActive = /^(BAJA|ANUL|INHABILITADO)/;

function statusWarnings({ estado, condicion }: TaxpayerRecord): Warning[] {
  const warnings: Warning[] = [];
  const address = `La condición del domicilio fiscal es «${condicion}»: la SUNAT`;
  if (condicion === 'NO HABIDO')
    warnings.push(warning('no_habido', 'grave', `${address} no pudo ubicar a la empresa y esta no lo ha aclarado.`));
  if (condicion?.startsWith('NO HALLADO'))
    warnings.push(warning('no_hallado', 'atencion', `${address} no encontró a la empresa en él.`));
  if (estado !== null && notActive.test(estado))
    warnings.push(warning('estado_baja', 'grave', `El estado en el padrón es «${estado}»: la empresa no está activa.`));
  if (estado === 'SUSPENSIÓN TEMPORAL') {
    const mensaje = `El estado en el padrón es «${estado}»: la empresa suspendió sus actividades.`;
    warnings.push(warning('suspension_temporal', 'atencion', mensaje));
  }
  return warnings;
}

function barWarnings({ sanctions, today, givenDay }: SupplierFacts, { recentBarDays }: SupplierThresholds): Warning[] {
  const barredToday = sanctions.filter((sanction) => inForce(sanction, today) === true);
  const barredThen = givenDay === null ? [] : sanctions.filter((sanction) => inForce(sanction, givenDay) === true);
  const oldest = toDate(toDayNumber(today) - recentBarDays);
  // An ended bar is not reported while another bar is in force.
  const over = barredToday.length > 0 ? [] : sanctions.filter((each) => endedBetween(each, oldest, today));
  return [
    ...barredToday.map((each) =>
      warning(
        'inhabilitado_vigente',
        'grave',
        `Inhabilitada para contratar con el Estado hoy, ${today}: ${termOf(each)}.`,
      ),
    ),
    ...barredThen.map((each) =>
      warning(
        'inhabilitado_en_fecha',
        'grave',
        `Inhabilitada para contratar con el Estado el ${givenDay}: ${termOf(each)}.`,
      ),
    ),
    ...over.map((each) =>
      warning(
        'inhabilitacion_reciente',
        'atencion',
        `Estuvo inhabilitada para contratar con el Estado: ${termOf(each)}.`,
      ),
    ),
  ];
}

/** Whether the bar was in force on its last day, and that day lies from `oldest` to the day before `today`. */
function endedBetween(sanction: NamedSanction, oldest: string, today: string): boolean {
  const { hasta } = sanction;
  return hasta !== null && isDay(hasta) && hasta >= oldest && hasta < today && inForce(sanction, hasta) === true;
}

function termOf({ resolucion, desde, hasta, fuente }: NamedSanction): string {
  const end = hasta === null ? 'sin fecha de fin' : `hasta el ${hasta}`;
  return `resolución ${resolucion}, desde el ${desde}, ${end} (${registers[fuente].title})`;
}

function changeWarning({ fechaDato, campo, antes, despues }: RecentChange): Warning {
  if (campo === 'ruc') {
    const mensaje = `El RUC aparece en el padrón desde la edición del ${fechaDato}.`;
    return warning('cambio_reciente', 'info', mensaje);
  }
  const [before, now] = [antes, despues].map((value) => (value === null ? 'sin dato' : `«${value}»`));
  const mensaje = `En la edición del ${fechaDato} cambió ${campo}: antes ${before}, ahora ${now}.`;
  return warning('cambio_reciente', campo === 'nombre' ? 'info' : 'atencion', mensaje);
}

/**
 * Warns of late data. The severity is `atencion` for a required source, because its late data may hide a bar. For other
 * sources it is `info`.
 */
function dateWarnings({ dates, today }: SupplierFacts, thresholds: SupplierThresholds): Warning[] {
  return supplierRegisters.flatMap((name) => {
    const fechaDato = dates[name];
    if (fechaDato === undefined) return [];
    const age = toDayNumber(today) - toDayNumber(fechaDato);
    const most = maxAgeDays(name, thresholds);
    if (age <= most) return [];
    const mensaje = `Los datos de «${registers[name].title}» son del ${fechaDato}: tienen ${age} días, más de los ${most} previstos.`;
    return [warning('dato_atrasado', thresholds.required.includes(name) ? 'atencion' : 'info', mensaje)];
  });
}

// The severity of these warnings is never above `info`, because the result `no_determinado` already says that a
// required source is missing.
function missingWarnings({ dates }: SupplierFacts): Warning[] {
  return supplierRegisters
    .filter((name) => dates[name] === undefined)
    .map((name) => {
      const mensaje = `«${registers[name].title}» todavía no está cargado en este servicio: no se tomó en cuenta.`;
      return warning('fuente_no_cargada', 'info', mensaje);
    });
}

function warning(codigo: Warning['codigo'], severidad: Warning['severidad'], mensaje: string): Warning {
  return { codigo, severidad, mensaje };
}
