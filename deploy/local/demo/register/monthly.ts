import { Readable } from 'node:stream';
import { columnNames } from '../../../../pipelines/registers/padron-mensual-rewrite.ts';
import { isCompany } from '../../../../schemas/ruc.ts';
import { hash, isDeleted, type Population, pick, placeOf, rucOfIndex, word } from './population.ts';
import { conditions, states } from './words.ts';

/** The real file's delimiter and encoding differ between months, so a reader has to detect them. */
const writings = [
  { delimiter: '|', encoding: 'latin1' },
  { delimiter: ',', encoding: 'utf8' },
] as const;

const missing = 'NO DISPONIBLE';
// The share of taxpayers that are in the file. The real file has 13.3 of the 18.34 million taxpayers.
const coverage = 0.725;
const rowsPerPiece = 8_192;

const companyKinds = [
  'SOCIEDAD ANONIMA CERRADA',
  'SOCIEDAD ANONIMA',
  'EMPRESA INDIVIDUAL DE RESPONSABILIDAD LIMITADA',
  'SOCIEDAD COMERCIAL DE RESPONSABILIDAD LIMITADA',
  'ASOCIACION',
  'GOBIERNO REGIONAL LOCAL',
] as const;
const personKinds = ['PERSONA NATURAL SIN EMPRESA', 'PERSONA NATURAL CON EMPRESA UNIPERSONAL'] as const;
const activities = [
  'VENTA AL POR MENOR DE PRUEBAS EN COMERCIOS NO ESPECIALIZADOS',
  'CULTIVO DE CAÑA DE AZÚCAR',
  'ACTIVIDADES DE CONSULTORÍA DE GESTIÓN',
  'CONSTRUCCIÓN DE EDIFICIOS',
  'TRANSPORTE DE CARGA POR CARRETERA',
  'FABRICACIÓN DE PRODUCTOS ALAMBICAS',
  'OTRAS ACTIVIDADES DE SERVICIOS PERSONALES NCP',
  'ACTIVIDADES DE RESTAURANTES Y DE SERVICIO MÓVIL DE COMIDAS',
] as const;
const billing = ['MANUAL', 'COMPUTARIZADO', 'MANUAL/COMPUTARIZADO', missing] as const;
const trade = ['SIN ACTIVIDAD', 'SIN ACTIVIDAD', 'SIN ACTIVIDAD', 'IMPORTADOR/EXPORTADOR', 'IMPORTADOR'] as const;

/**
 * One month of the open-data file. Months are numbered from 1, and each later month changes about `changed` rows of
 * the month before it.
 */
export interface Month {
  number: number;
  /** Year and month as AAAAMM. */
  period: string;
  /** The day of the population (see `Population`) whose taxpayers the file covers. */
  day: number;
  changed: number;
}

/**
 * Returns the cells of a taxpayer's row in the month's file, without the period. Returns null if the taxpayer is not in
 * the file. The file has only a part of all taxpayers (see `coverage`).
 */
export function monthlyCells(population: Population, index: number, month: Month): string[] | null {
  const luck = hash(index, population.seed + 500);
  if ((luck >>> 3) % 1_000 >= coverage * 1_000 || isDeleted(population, index, month.day)) return null;
  const ruc = rucOfIndex(population, index);
  const company = isCompany(ruc);
  const moves = movesUntil(population, index, month);
  const base = hash(index, population.seed);
  const { ubigeo, names } = placeOf(population, index);
  const isKnown = company || luck % 4 === 0;
  const kind = hash(luck, 1);
  return [
    ruc,
    states[pick(states, hash(base, 2))]!.text,
    conditions[pick(conditions, hash(base, 3))]!.text,
    company ? word(companyKinds, kind) : word(personKinds, kind),
    isKnown && luck % 3 !== 0 ? word(activities, kind >>> 4) : missing,
    missing,
    isKnown && luck % 5 !== 0 ? word(activities, (kind >>> 7) + moves) : missing,
    company && luck % 10 < 4 ? String((luck >>> 7) % 40 === 0 ? 0 : ((luck >>> 9) % 250) + moves) : missing,
    isKnown ? word(billing, kind >>> 10) : missing,
    isKnown ? word(billing, kind >>> 12) : missing,
    word(trade, kind >>> 14),
    ubigeo,
    ...names,
  ];
}

/** How many times the row has changed since the first month. */
function movesUntil(population: Population, index: number, { number, changed }: Month): number {
  let moves = 0;
  for (let past = 2; past <= number; past += 1) {
    if (hash(index, population.seed + 700 + past) % population.rows < changed) moves += 1;
  }
  return moves;
}

/** The text of the file as a stream of pieces. */
export function monthlyText(population: Population, month: Month): Readable {
  const { delimiter, encoding } = writings[(month.number - 1) % writings.length]!;
  const total = population.rows + (month.day - 1) * population.inserted;
  function* pieces(): Generator<Uint8Array> {
    yield Buffer.from(`${columnNames.join(delimiter)}\n`, encoding);
    for (let from = 0; from < total; from += rowsPerPiece) {
      const lines: string[] = [];
      for (let index = from; index < Math.min(total, from + rowsPerPiece); index += 1) {
        const cells = monthlyCells(population, index, month);
        if (cells !== null) lines.push(`${cells.join(delimiter)}${delimiter}${month.period}\n`);
      }
      // Some months' real files are in Windows-1252. Latin-1 gives the same bytes for all letters of the word lists.
      yield Buffer.from(lines.join(''), encoding);
    }
  }
  return Readable.from(pieces(), { objectMode: false });
}
