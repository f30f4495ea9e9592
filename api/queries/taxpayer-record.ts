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
 * The public record of a taxpayer (api.md, "Taxpayer"). Nothing is made up: what a register does not say is null, and a code of
 * a place that the catalogue does not know stays, without names.
 */
export function taxpayerRecordOf(ruc: string, rows: TaxpayerRows, ubigeos: UbigeoCatalogue): TaxpayerRecord {
  const daily = (name: DailyColumn) => rows.padron_reducido[dailyPosition[name]] ?? '';
  const monthly = (name: MonthlyColumn) => textOf(rows.padron_mensual?.[monthlyPosition[name]] ?? '');
  const ubigeo = textOf(daily('ubigeo')) ?? monthly('ubigeo');
  const place = ubigeo === null ? null : ubigeos.find(ubigeo);
  return {
    ruc,
    tipo: ruc.slice(0, 2),
    nombre: daily('nombre'),
    estado: displayEstado(daily('estado')),
    condicion: displayCondicion(daily('condicion')),
    ubigeo,
    departamento: place?.departamento ?? null,
    provincia: place?.provincia ?? null,
    distrito: place?.distrito ?? null,
    tipo_contribuyente: monthly('tipo'),
    sistema_emision: monthly('tipo_facturacion'),
    actividad_economica: monthly('ciiu4_principal') ?? monthly('ciiu3_principal'),
    comercio_exterior: monthly('comercio_exterior'),
    nro_trabajadores: countOf(monthly('nro_trabajadores')),
    direccion: composeAddress({
      tipo_via: daily('tipo_via'),
      nombre_via: daily('nombre_via'),
      tipo_zona: daily('tipo_zona'),
      nombre_zona: daily('nombre_zona'),
      numero: daily('numero'),
      interior: daily('interior'),
      lote: daily('lote'),
      dpto: daily('dpto'),
      manzana: daily('manzana'),
      kilometro: daily('kilometro'),
    }),
    es_agente_retencion: rows.agentes_retencion,
    es_buen_contribuyente: rows.buenos_contribuyentes,
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
function textOf(cell: string): string | null {
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
