import { displayCondicion, displayEstado } from '../../schemas/display-texts.ts';
import type { TaxpayerRecord } from '../../schemas/http/taxpayer.ts';
import { padronReducido } from '../../schemas/registers.ts';
import { clean, composeAddress } from './address.ts';

type ColumnName = (typeof padronReducido.columns)[number]['name'];

const position = Object.fromEntries(padronReducido.columns.map((column, index) => [column.name, index])) as Record<
  ColumnName,
  number
>;

/**
 * The public record of a taxpayer from the cells of the daily register, in the order of their columns. Fields of other
 * registers and the names of the ubigeo are null until these are loaded.
 */
export function taxpayerRecordOf(ruc: string, cells: readonly string[]): TaxpayerRecord {
  const cell = (name: ColumnName) => cells[position[name]] ?? '';
  const ubigeo = clean(cell('ubigeo'));
  return {
    ruc,
    tipo: ruc.slice(0, 2),
    nombre: cell('nombre'),
    estado: displayEstado(cell('estado')),
    condicion: displayCondicion(cell('condicion')),
    ubigeo: ubigeo === '' ? null : ubigeo,
    departamento: null,
    provincia: null,
    distrito: null,
    tipo_contribuyente: null,
    sistema_emision: null,
    actividad_economica: null,
    comercio_exterior: null,
    nro_trabajadores: null,
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
    es_agente_retencion: null,
    es_buen_contribuyente: null,
  };
}

/** The texts of estado and condicion to show beside a watched RUC. */
export function statusOf(cells: readonly string[]): { estado: string; condicion: string } {
  return {
    estado: displayEstado(cells[position.estado] ?? ''),
    condicion: displayCondicion(cells[position.condicion] ?? ''),
  };
}
