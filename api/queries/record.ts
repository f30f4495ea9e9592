import { Counter, type Registry } from 'prom-client';
import { carriedText, displayCondicion, displayEstado } from '../../schemas/display-texts.ts';
import type { Source, TaxpayerMeta, TaxpayerRecord } from '../../schemas/http/taxpayer.ts';
import {
  padronMensual,
  padronReducido,
  type RegisterName,
  registerOfCode,
  registers,
} from '../../schemas/registers.ts';
import type { UbigeoCatalogue } from '../../schemas/ubigeo.ts';
import type { Validators } from '../answers.ts';
import { newestChange, type ServedRegister, type ServedRegisters } from '../catalogue.ts';
import type { StoredRow } from './look-up.ts';

/**
 * Puts a row's cells into today's order of columns. A cell is empty when `written` or `known` lacks its column.
 * @param written the columns of the row
 * @param known for a look-up as of a past day, the columns of that day's edition; a later column is not shown
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

/** `daily` is the edition of the daily register that decided whether the taxpayer was found. */
export type FoundRecord =
  | { isFound: false; daily: ServedRegister }
  | { isFound: true; daily: ServedRegister; data: TaxpayerRecord; sources: { meta: TaxpayerMeta } & Validators };

/** A RUC's cells by register. A register that does not have the RUC, or that was never loaded, is missing. */
export type CellsByRegister = Partial<Record<RegisterName, readonly string[]>>;
export type RowsByRegister = Partial<Record<RegisterName, StoredRow>>;

export interface RecordDependencies {
  ubigeos: UbigeoCatalogue;
  countUnknownUbigeo(): void;
}

/** Makes a record from `cells`. `editions` must have the daily register, which decides whether the taxpayer exists. */
export function recordFound(
  ruc: string,
  editions: ServedRegisters,
  cells: CellsByRegister,
  { ubigeos, countUnknownUbigeo }: RecordDependencies,
): FoundRecord {
  const daily = editions.padron_reducido!;
  if (cells.padron_reducido === undefined) return { isFound: false, daily };
  // Returns null when the list has no complete edition yet: the rows of an unfinished first edition are incomplete.
  const isListed = (name: RecordRegister) => (editions[name] === undefined ? null : cells[name] !== undefined);
  const rows = {
    padron_reducido: cells.padron_reducido,
    padron_mensual: editions.padron_mensual === undefined ? null : (cells.padron_mensual ?? null),
    agentes_retencion: isListed('agentes_retencion'),
    buenos_contribuyentes: isListed('buenos_contribuyentes'),
  };
  const data = taxpayerRecordOf(ruc, rows, ubigeos);
  if (data.ubigeo !== null && data.distrito === null) countUnknownUbigeo();
  return { isFound: true, daily, data, sources: recordSourcesOf(editions) };
}

export function rowsByRegister(rows: readonly StoredRow[]): RowsByRegister {
  const found: RowsByRegister = {};
  for (const row of rows) {
    const name = registerOfCode.get(row.register);
    if (name !== undefined) found[name] = row;
  }
  return found;
}

/**
 * Returns the loaded registers for which ClickHouse has no row of the RUC, not even one that is marked as deleted.
 * ClickHouse may have lost their rows. So a PresenceCheck (current-rows.ts) must pass for these registers before an
 * answer says that they lack the RUC. If the daily register lacks the RUC, only the daily register can be returned,
 * because the others do not change the answer.
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

/** The registers that make a taxpayer's record, in the order in which an answer lists them in `meta.fuentes`. */
export const recordRegisters = [
  'padron_reducido',
  'padron_mensual',
  'agentes_retencion',
  'buenos_contribuyentes',
] as const;
export type RecordRegister = (typeof recordRegisters)[number];

type RecordSources = { meta: TaxpayerMeta } & Validators;

/** Thousands of look-ups share one snapshot of the catalogue, and so the same sources. */
const knownSources = new WeakMap<ServedRegisters, RecordSources>();

/**
 * `meta.fecha_dato` is the daily register's date. Other fields of `meta` hold the dates of the other registers. Do not
 * change the returned object, because other answers contain it too.
 * @param editions must have the daily register
 */
export function recordSourcesOf(editions: ServedRegisters): RecordSources {
  const known = knownSources.get(editions);
  if (known !== undefined) return known;
  const { fuentes, ...validators } = sourcesOf(recordRegisters, editions);
  const made: RecordSources = {
    meta: {
      origen: padronReducido.title,
      fecha_dato: editions.padron_reducido!.edition.fechaDato,
      fecha_padrones: {
        agentes_retencion: editions.agentes_retencion?.edition.fechaDato ?? null,
        buenos_contribuyentes: editions.buenos_contribuyentes?.edition.fechaDato ?? null,
      },
      fuentes,
    },
    ...validators,
  };
  knownSources.set(editions, made);
  return made;
}

export interface Sources extends Validators {
  fuentes: Source[];
}

/** Returns the sources of those registers in `names` that are loaded. At least one must be loaded. */
export function sourcesOf(names: readonly RegisterName[], editions: ServedRegisters): Sources {
  const used = names.flatMap((name) => editions[name] ?? []);
  return {
    fuentes: used.map(({ source }) => source),
    tag: used.map(({ edition }) => edition.number).join('.'),
    modifiedAt: newestChange(used),
  };
}

/** One taxpayer's rows, with cells in the order of the register's columns. */
export interface TaxpayerRows {
  padron_reducido: readonly string[];
  /**
   * Null when the monthly register was never loaded or lacks the RUC. The taxpayer may exist all the same, because the
   * monthly register has only some of the taxpayers.
   */
  padron_mensual: readonly string[] | null;
  /** Whether the list has the RUC; null when the list was never loaded. */
  agentes_retencion: boolean | null;
  buenos_contribuyentes: boolean | null;
}

/**
 * Makes the public record of a taxpayer. A value that no register states is null. A ubigeo (code of a district) that
 * the catalogue does not know stays as a code without names.
 */
export function taxpayerRecordOf(ruc: string, rows: TaxpayerRows, ubigeos: UbigeoCatalogue): TaxpayerRecord {
  const { direccion, ...daily } = dailyFields(rows.padron_reducido);
  const { ubigeo: _, ...monthly } = monthlyFields(rows.padron_mensual ?? []);
  const ubigeo = ubigeoOf(rows);
  // The order of the fields is part of the API.
  return {
    ruc,
    tipo: ruc.slice(0, 2),
    ...daily,
    ubigeo,
    ...placeNames(ubigeo, ubigeos),
    ...monthly,
    direccion,
    es_agente_retencion: rows.agentes_retencion,
    es_buen_contribuyente: rows.buenos_contribuyentes,
  };
}

/** Returns the daily register's ubigeo, or the monthly register's if the daily one is empty; null if both are empty. */
export function ubigeoOf(rows: Pick<TaxpayerRows, 'padron_reducido' | 'padron_mensual'>): string | null {
  const daily = textOf(rows.padron_reducido[dailyPosition.ubigeo] ?? '');
  return daily ?? textOf(rows.padron_mensual?.[monthlyPosition.ubigeo] ?? '');
}

/** Returns nulls for a code that the catalogue does not know. */
export function placeNames(ubigeo: string | null, ubigeos: UbigeoCatalogue) {
  return (ubigeo === null ? undefined : ubigeos.get(ubigeo)) ?? noPlace;
}

const noPlace = { departamento: null, provincia: null, distrito: null };

export function dailyFields(cells: readonly string[]) {
  const cell = (name: DailyColumn) => cells[dailyPosition[name]] ?? '';
  return { nombre: cell('nombre'), ...statusOf(cells), ubigeo: textOf(cell('ubigeo')), direccion: addressOf(cell) };
}

/**
 * Returns the fiscal address in one line: street, number, interior, flat, block, lot, kilometre, zone. Returns null
 * when all cells are empty. Only labels such as `NRO.` are added. Names of places are other fields of the answer. `SN`
 * and `S/N` (no number) stay, because the register writes them.
 */
function addressOf(cell: (name: DailyColumn) => string): string | null {
  const text = (name: DailyColumn) => carriedText(cell(name));
  const labelled = (label: string, name: DailyColumn) => {
    const found = text(name);
    return found === '' ? '' : `${label} ${found}`;
  };
  const parts = [
    text('tipo_via'),
    text('nombre_via'),
    labelled('NRO.', 'numero'),
    labelled('INT.', 'interior'),
    labelled('DPTO.', 'dpto'),
    labelled('MZA.', 'manzana'),
    labelled('LOTE', 'lote'),
    labelled('KM.', 'kilometro'),
    text('tipo_zona'),
    text('nombre_zona'),
  ];
  return parts.filter((part) => part !== '').join(' ') || null;
}

/** A record's fields from the monthly register. Its `ubigeo` counts only when the daily register has none (ubigeoOf). */
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

/** The texts of estado and condicion as answers show them. Null: the register carries no value. */
export function statusOf(cells: readonly string[]): { estado: string | null; condicion: string | null } {
  return {
    estado: displayEstado(cells[dailyPosition.estado] ?? ''),
    condicion: displayCondicion(cells[dailyPosition.condicion] ?? ''),
  };
}

/**
 * Returns the cell's text. Returns null for an empty cell, and also when the register wrote `-` or NO DISPONIBLE in it.
 */
export function textOf(cell: string): string | null {
  const text = carriedText(cell);
  return text === '' || text === 'NO DISPONIBLE' ? null : text;
}

/** Returns the number, which may be 0, or null when the text is not a whole number. */
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

/** Counts records with an unknown ubigeo. The code is no label of the metric: the number of codes has no limit. */
export function makeUnknownUbigeoCounter(metrics: Registry): () => void {
  const unknown = new Counter({
    name: 'padron_unknown_ubigeo_total',
    help: 'Records whose ubigeo the catalogue does not know; they show the code without names.',
    registers: [metrics],
  });
  return () => unknown.inc();
}
