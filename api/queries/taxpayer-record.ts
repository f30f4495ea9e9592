import { displayCondicion, displayEstado } from '../../schemas/display-texts.ts';
import type { TaxpayerRecord } from '../../schemas/http/taxpayer.ts';
import { padronMensual, padronReducido } from '../../schemas/registers.ts';
import type { UbigeoCatalogue } from '../../schemas/ubigeo/catalogue.ts';
import { clean, composeAddress } from './address.ts';

/** What the registers hold of one taxpayer; cells in the order of the register's columns. */
export interface TaxpayerRows {
  padron_reducido: readonly string[];
  /** null: the register does not hold the RUC, which proves nothing, or was never loaded. */
  padron_mensual: readonly string[] | null;
  /** Whether the list names the RUC; null: the list was never loaded. */
  agentes_retencion: boolean | null;
  buenos_contribuyentes: boolean | null;
}

/**
 * The public record of a taxpayer. Nothing is made up: what a register does not say is null, and a code of
 * a place that the catalogue does not know stays, without names.
 */
export function taxpayerRecordOf(ruc: string, rows: TaxpayerRows, ubigeos: UbigeoCatalogue): TaxpayerRecord {
  const daily = dailyFields(rows.padron_reducido);
  const monthly = monthlyFields(rows.padron_mensual ?? []);
  const ubigeo = daily.ubigeo ?? monthly.ubigeo;
  const place = ubigeo === null ? null : ubigeos.find(ubigeo);
  return {
    ruc,
    tipo: ruc.slice(0, 2),
    nombre: daily.nombre,
    estado: daily.estado,
    condicion: daily.condicion,
    ubigeo,
    departamento: place?.departamento ?? null,
    provincia: place?.provincia ?? null,
    distrito: place?.distrito ?? null,
    tipo_contribuyente: monthly.tipo_contribuyente,
    sistema_emision: monthly.sistema_emision,
    actividad_economica: monthly.actividad_economica,
    comercio_exterior: monthly.comercio_exterior,
    nro_trabajadores: monthly.nro_trabajadores,
    direccion: daily.direccion,
    es_agente_retencion: rows.agentes_retencion,
    es_buen_contribuyente: rows.buenos_contribuyentes,
  };
}

/** What the daily register gives to a record. */
export function dailyFields(cells: readonly string[]) {
  const cell = (name: DailyColumn) => cells[dailyPosition[name]] ?? '';
  return {
    nombre: cell('nombre'),
    estado: displayEstado(cell('estado')),
    condicion: displayCondicion(cell('condicion')),
    ubigeo: textOf(cell('ubigeo')),
    direccion: composeAddress({
      tipo_via: cell('tipo_via'),
      nombre_via: cell('nombre_via'),
      tipo_zona: cell('tipo_zona'),
      nombre_zona: cell('nombre_zona'),
      numero: cell('numero'),
      interior: cell('interior'),
      lote: cell('lote'),
      dpto: cell('dpto'),
      manzana: cell('manzana'),
      kilometro: cell('kilometro'),
    }),
  };
}

/** What the monthly register gives to a record; its ubigeo only where the daily register has none. */
export function monthlyFields(cells: readonly string[]) {
  const text = (name: MonthlyColumn) => textOf(cells[monthlyPosition[name]] ?? '');
  return {
    tipo_contribuyente: text('tipo'),
    sistema_emision: text('tipo_facturacion'),
    actividad_economica: text('ciiu4_principal') ?? text('ciiu3_principal'),
    comercio_exterior: text('comercio_exterior'),
    nro_trabajadores: countOf(text('nro_trabajadores')),
    ubigeo: text('ubigeo'),
  };
}

/** The texts of estado and condicion to show beside a watched RUC. */
export function statusOf(cells: readonly string[]): { estado: string; condicion: string } {
  return {
    estado: displayEstado(cells[dailyPosition.estado] ?? ''),
    condicion: displayCondicion(cells[dailyPosition.condicion] ?? ''),
  };
}

/** null where the register says nothing, in whatever way it writes that; it holds for this cell alone. */
export function textOf(cell: string): string | null {
  const text = clean(cell);
  return text === '' || text === 'NO DISPONIBLE' ? null : text;
}

/** 0 is a count, not a missing one; a text that is no whole number is none. */
function countOf(text: string | null): number | null {
  return text !== null && /^[0-9]{1,9}$/.test(text) ? Number(text) : null;
}

type DailyColumn = (typeof padronReducido.columns)[number]['name'];
type MonthlyColumn = (typeof padronMensual.columns)[number]['name'];

const dailyPosition = positionsOf<DailyColumn>(padronReducido.columns);
const monthlyPosition = positionsOf<MonthlyColumn>(padronMensual.columns);

function positionsOf<Name extends string>(columns: readonly { name: Name }[]): Readonly<Record<Name, number>> {
  return Object.fromEntries(columns.map(({ name }, index) => [name, index])) as Record<Name, number>;
}
