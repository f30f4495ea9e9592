import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { limaDay } from '../../../../schemas/lima-time.ts';
import type { RegisterName } from '../../../../schemas/registers.ts';
import { type BarKind, barText } from './bars.ts';
import { agentsOf, dailyRegisterPage, goodTaxpayersOf, type ListKind, listPage, listText } from './lists.ts';
import { type Month, monthlyText } from './monthly.ts';
import type { Population } from './population.ts';
import { type Publication, writePublication, writeZip } from './publication.ts';

/** The path of each register on the official site. `{AAAAMM}` stands for a month, as in the product's settings. */
export const sitePaths: Readonly<Record<RegisterName, { file: string; page: string | null }>> = {
  padron_reducido: { file: '/padron_reducido_ruc.zip', page: '/descargaPRR/mrc137_padron_reducido.html' },
  padron_mensual: { file: '/sites/default/files/PadronRUC_{AAAAMM}.zip', page: null },
  agentes_retencion: { file: '/descarga/AgentRet/AgenRet_TXT.zip', page: '/descarga/AgentRet/AgenRet0.html' },
  buenos_contribuyentes: { file: '/descarga/BueCont/BueCont_TXT.zip', page: '/descarga/BueCont/BueCont0.html' },
  sancionados: { file: '/reportes/sancionados/sancionados.csv', page: null },
  inhabilitaciones_judiciales: { file: '/reportes/inhabilitaciones/inhabilitaciones_judiciales.csv', page: null },
  inhabilitaciones_administrativas: {
    file: '/reportes/inhabilitaciones/inhabilitaciones_administrativas.csv',
    page: null,
  },
};

/** A register's file of one day: where it is on this disk, and where the site shows it. */
interface PublishedFile {
  register: RegisterName;
  path: string;
  sitePath: string;
  bytes: number;
  /** Date of the data, YYYY-MM-DD. */
  fechaDato: string;
}

export interface PublishedDay {
  lastModified: Date;
  files: PublishedFile[];
  pages: { sitePath: string; html: string }[];
  /** The daily register's file, with the changes that a correct comparison with the day before must find. */
  daily: Publication;
}

export interface DayOptions {
  directory: string;
  population: Population;
  /** Number of the day, from 1. */
  day: number;
  lastModified: Date;
  /** Null when no new month is published on this day. */
  month: Month | null;
  /** The daily register's file if it was written before. Without it a new file is written. */
  daily?: Publication;
  /** Path of the month's file if it was written before. Without it a new file is written. */
  monthly?: string;
}

/** Writes all registers of a day in their official formats. */
export async function writeDay(options: DayOptions): Promise<PublishedDay> {
  mkdirSync(options.directory, { recursive: true });
  const daily = options.daily ?? (await writeDailyRegister(options));
  const files = [published('padron_reducido', daily.path, limaDay(options.lastModified))];
  if (options.month !== null) files.push(await writeMonth(options, options.month));
  files.push(await writeList(options, 'agentes_retencion'), await writeList(options, 'buenos_contribuyentes'));
  for (const kind of barKinds) files.push(writeBars(options, kind));
  return { lastModified: options.lastModified, files, pages: pagesOf(options.lastModified), daily };
}

function writeDailyRegister(options: DayOptions): Promise<Publication> {
  const { rows, seed, inserted, deleted, updated } = options.population;
  const file = fileIn(options, 'padron_reducido', '.zip');
  const changes = { inserted, deleted, updated };
  return writePublication({ path: file, rows, seed, day: options.day, changes });
}

const barKinds: readonly BarKind[] = ['sancionados', 'inhabilitaciones_judiciales', 'inhabilitaciones_administrativas'];

async function writeMonth(options: DayOptions, month: Month): Promise<PublishedFile> {
  const file = options.monthly ?? fileIn(options, 'padron_mensual', '.zip');
  if (options.monthly === undefined) await writeMonthlyRegister(file, options.population, month);
  const sitePath = sitePaths.padron_mensual.file.replace('{AAAAMM}', month.period);
  const fechaDato = `${month.period.slice(0, 4)}-${month.period.slice(4)}-01`;
  return { ...published('padron_mensual', file, fechaDato), sitePath };
}

/** Writes one month's file in pieces, so the memory needed does not grow with the file. */
export async function writeMonthlyRegister(file: string, population: Population, month: Month): Promise<void> {
  const entry = { name: `PadronRUC_${month.period}.csv`, content: monthlyText(population, month) };
  await writeZip(file, [entry], compressionLevel);
}

async function writeList(options: DayOptions, kind: ListKind): Promise<PublishedFile> {
  const { population, day, lastModified } = options;
  const membership = kind === 'agentes_retencion' ? agentsOf(population) : goodTaxpayersOf(population);
  const file = fileIn(options, kind, '.zip');
  const name = path.basename(sitePaths[kind].file).replace(/zip$/, 'txt');
  await writeZip(file, [{ name, content: listText(kind, membership, day, lastModified) }], compressionLevel);
  return published(kind, file, limaDay(lastModified));
}

function writeBars(options: DayOptions, kind: BarKind): PublishedFile {
  const { population, day, lastModified } = options;
  const file = fileIn(options, kind, '.csv');
  writeFileSync(file, barText(kind, population, day, lastModified));
  return published(kind, file, limaDay(lastModified));
}

function pagesOf(lastModified: Date): PublishedDay['pages'] {
  const list = (kind: ListKind) => ({
    sitePath: sitePaths[kind].page!,
    html: listPage(kind, path.basename(sitePaths[kind].file), lastModified),
  });
  return [
    { sitePath: sitePaths.padron_reducido.page!, html: dailyRegisterPage(lastModified) },
    list('agentes_retencion'),
    list('buenos_contribuyentes'),
  ];
}

const compressionLevel = 6;

function fileIn({ directory, day }: DayOptions, register: RegisterName, extension: string): string {
  return path.join(directory, `${register}.day${day}${extension}`);
}

function published(register: RegisterName, file: string, fechaDato: string): PublishedFile {
  return { register, path: file, sitePath: sitePaths[register].file, bytes: statSync(file).size, fechaDato };
}
