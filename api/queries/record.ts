import { Counter, type Registry } from 'prom-client';
import { displayCondicion, displayEstado } from '../../schemas/display-texts.ts';
import type { Source, TaxpayerMeta, TaxpayerRecord } from '../../schemas/http/taxpayer.ts';
import { padronMensual, padronReducido, type RegisterName, registers } from '../../schemas/registers.ts';
import type { UbigeoCatalogue } from '../../schemas/ubigeo/catalogue.ts';
import type { ServedRegister, ServedRegisters } from '../catalogue.ts';
import { clean, composeAddress } from './address.ts';
import type { StoredRow } from './look-up.ts';

/**
 * A row's cells in the order of the register's columns of today, whichever columns stood when it was written: by their names. A
 * column that the row does not have, or that was not known on the day that is asked for, is empty: what is not known is not told.
 */
export function cellsByName(
  register: RegisterName,
  cells: readonly string[],
  written: readonly string[],
  known: readonly string[] = written,
): readonly string[] {
  const { columns } = registers[register];
  if (columns.every(({ name }, at) => written[at] === name && (known === written || known[at] === name))) return cells;
  return columns.map(({ name }) => (known.includes(name) ? (cells[written.indexOf(name)] ?? '') : ''));
}

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

/** The registers that a taxpayer's record is made of, in the order in which `fuentes` tells them. */
export const recordRegisters = [
  'padron_reducido',
  'padron_mensual',
  'agentes_retencion',
  'buenos_contribuyentes',
] as const;
export type RecordRegister = (typeof recordRegisters)[number];

/** What an answer says of the editions that it was made from. */
interface RecordSources {
  meta: TaxpayerMeta;
  /** Their numbers, for the ETag. */
  tag: string;
  /** Of the newest of them. */
  lastModified: string;
}

/** `meta.fecha_dato` is the daily register's: the record is of it, the others add to it, each with its own date. */
export function recordSourcesOf(daily: ServedRegister, editions: ServedRegisters): RecordSources {
  const { fuentes, tag, lastModified } = sourcesOf(recordRegisters, editions);
  return {
    meta: {
      origen: padronReducido.title,
      fecha_dato: daily.edition.fechaDato,
      fecha_padrones: {
        agentes_retencion: editions.agentes_retencion?.edition.fechaDato ?? null,
        buenos_contribuyentes: editions.buenos_contribuyentes?.edition.fechaDato ?? null,
      },
      fuentes,
    },
    tag,
    lastModified,
  };
}

/** What is said of the loaded ones of these registers, of which at least one is. */
export function sourcesOf(
  names: readonly RegisterName[],
  editions: ServedRegisters,
): { fuentes: Source[]; tag: string; lastModified: string } {
  const used = names.flatMap((name) => editions[name] ?? []);
  const newest = used.reduce((one, other) => (other.edition.publishedAt > one.edition.publishedAt ? other : one));
  return {
    fuentes: used.map(({ source }) => source),
    tag: used.map(({ edition }) => edition.number).join('.'),
    lastModified: newest.lastModified,
  };
}

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

/** Counts records shown with a code that the catalogue does not know. No label: what codes a register may write has no bound. */
export function makeUnknownUbigeoCounter(metrics: Registry): () => void {
  const unknown = new Counter({
    name: 'padron_unknown_ubigeo_total',
    help: 'Records shown whose ubigeo the catalogue does not know: kept as it is, without names.',
    registers: [metrics],
  });
  return () => unknown.inc();
}
