import { Registry } from 'prom-client';
import { CompanyNames } from '../../pipelines/consumers/company-names.ts';
import { makeMaterializeHandler } from '../../pipelines/consumers/materialize.ts';
import { TaxpayerRows } from '../../pipelines/consumers/taxpayer-rows.ts';
import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import { padronReducido } from '../../schemas/registers.ts';
import { checkDigit } from '../../schemas/ruc.ts';
import { encodeChange } from '../support/registers/change-records.ts';

const batchRows = 50_000;
const sampleOneOf = 100;
const trades = ['INVERSIONES', 'SERVICIOS', 'TRANSPORTES', 'COMERCIAL', 'CONSTRUCTORA', 'DISTRIBUIDORA', 'CORPORACION'];
const middles = ['GENERALES', 'DEL PERU', 'DEL SUR', 'Y', 'E HIJOS', 'INTEGRALES', 'SAN', '&', 'GRUPO'];
const forms = ['S.A.C.', 'S.A.C.', 'S.A.C.', 'E.I.R.L.', 'S.R.L.', 'S.A.', 'SOCIEDAD ANONIMA CERRADA'];
const syllables = [
  ...['CA', 'TI', 'ÑU', 'LLA', 'MO', 'PE', 'RRO', 'SA', 'VEL', 'QUI', 'HUA', 'ZU'],
  ...['BER', 'DO', 'GAN', 'FI', 'NA', 'CHO', 'TRE', 'YA', 'LIN', 'MAR', 'COR', 'TEX'],
];

/** Repeatable numbers from 0 to 1, so that every run asks the same questions. */
export function makeLuck(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** One of some 330,000 invented words. A few are in very many names, and most in a handful. */
export function brandWord(luck: () => number): string {
  let number = Math.floor(luck() ** 3 * syllables.length ** 4);
  let word = '';
  do {
    word += syllables[number % syllables.length];
    number = Math.floor(number / syllables.length);
  } while (number > 0);
  return word.length < 4 ? `${word}NOR` : word;
}

const pick = (list: readonly string[], luck: () => number) => list[Math.floor(luck() ** 2 * list.length)]!;

/** The share of names with initials or an apostrophe. */
const oddShare = 0.05;

function oddWord(luck: () => number): string {
  if (luck() < 0.5) return `D'${brandWord(luck)}`;
  const letters = Array.from({ length: 3 }, () => pick([...'ABCDFGHJKMNPRTVZ'], luck));
  return luck() < 0.5 ? `${letters.join('.')}.` : letters.join(' ');
}

function companyName(luck: () => number): string {
  const words = [luck() < oddShare ? oddWord(luck) : brandWord(luck)];
  if (luck() < 0.5) words.unshift(pick(trades, luck));
  if (luck() < 0.4) words.push(pick(middles, luck), brandWord(luck));
  return [...words, pick(forms, luck)].join(' ');
}

export interface LoadedCompanies {
  /** Microseconds of CPU that the consumer's JavaScript spends on one company. */
  stateMicroseconds: number;
  nameMicroseconds: number;
  /** A sample of the companies' names. */
  sample: readonly string[];
}

/** Writes companies 0 to rows - 1 through the consumer's handler, as edition 1 of the daily register. */
export async function loadCompanies(clickhouse: ClickHouseClient, rows: number): Promise<LoadedCompanies> {
  const handle = makeMaterializeHandler(clickhouse, new Registry());
  const luck = makeLuck(1);
  const taxpayers = new TaxpayerRows();
  const names = new CompanyNames();
  const sample: string[] = [];
  let stateMicroseconds = 0;
  let nameMicroseconds = 0;
  for (let start = 0; start < rows; start += batchRows) {
    const count = Math.min(batchRows, rows - start);
    const given = Array.from({ length: count }, () => companyName(luck));
    sample.push(...given.filter((_, index) => index % sampleOneOf === 0));
    const messages = given.map((name, index) => messageOf(start + index, rows, name, luck));
    stateMicroseconds += cpuOf(() => taxpayers.fill('padron_reducido', messages)) / rows;
    nameMicroseconds += cpuOf(() => names.fill('padron_reducido', messages)) / rows;
    names.wordsAreStored();
    await handle({
      register: 'padron_reducido',
      topic: 'bench',
      partition: 0,
      firstOffset: '0',
      lastOffset: String(count - 1),
      messages,
      heartbeat: async () => {},
      isStale: () => false,
    });
  }
  return { stateMicroseconds, nameMicroseconds, sample };
}

function cpuOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function messageOf(number: number, rows: number, nombre: string, luck: () => number) {
  const firstTen = `20${String(number * Math.floor(1e8 / rows)).padStart(8, '0')}`;
  const cells: Record<string, string> = {
    nombre,
    estado: luck() < 0.5 ? 'ACTIVO' : 'BAJA DE OFICIO',
    condicion: luck() < 0.9 ? 'HABIDO' : 'NO HABIDO',
    ubigeo: '150101',
    nombre_via: 'CALLE DE PRUEBA',
    numero: String(number % 999),
  };
  const value = encodeChange(
    {
      edition: 1,
      op: 'r',
      seq: number,
      ruc: `${firstTen}${checkDigit(firstTen)}`,
      before: null,
      after: Object.fromEntries(padronReducido.columns.map(({ name }) => [name, cells[name] ?? '-'])),
      line: null,
      detectedAt: new Date('2026-11-26T10:00:00Z'),
      corrects: null,
    },
    1,
    'padron_reducido',
  );
  return { offset: String(number), value };
}
