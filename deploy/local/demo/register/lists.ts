import { listLayout } from '../../../../pipelines/registers/taxpayer-list.ts';
import { encodeWindows1252 } from '../../../../pipelines/registers/windows-1252.ts';
import { limaDay } from '../../../../schemas/lima-time.ts';
import { hash, type Member, type Membership, membersOn, type Population } from './population.ts';

const header = listLayout.names.join('|');
const longestName = 100;
const dayMs = 86_400_000;

/** The list of retention agents: some 7,200 companies as in 2026, but in a small register only 2 % of the taxpayers. */
export function agentsOf(population: Population): Membership {
  const count = Math.min(7_200, Math.floor(population.rows * 0.02));
  return { population, count, from: 0, entering: 5, leaving: 2, onePersonIn: null };
}

/**
 * The list of good taxpayers. It has at most 50,711 members, and at most 5 % of the taxpayers. Some 87 % of the
 * taxpayers are no companies, and one in 27 of them is in the queue, so a fifth of the members are natural persons.
 */
export function goodTaxpayersOf(population: Population): Membership {
  const count = Math.min(50_711, Math.floor(population.rows * 0.05));
  return { population, count, from: Math.floor(population.rows / 3), entering: 4, leaving: 3, onePersonIn: 27 };
}

export type ListKind = 'agentes_retencion' | 'buenos_contribuyentes';

/**
 * Returns one of SUNAT's lists as published, in Windows-1252. A pipe ends each of a record's four cells, and a CR
 * without LF ends the record. A quote is part of a name. Members who entered after day 1 stand first, then the others
 * by name.
 */
export function listText(kind: ListKind, membership: Membership, day: number, publishedAt: Date): Uint8Array {
  const members = membersOn(membership, day);
  const late = members.filter(({ since }) => since > 1);
  const old = members.filter(({ since }) => since === 1).sort((one, other) => (one.name < other.name ? -1 : 1));
  const records = [...late, ...old].map((member) => recordOf(kind, member, day, publishedAt));
  return encodeWindows1252([header, ...records].map((record) => `${record}\r`).join(''));
}

function recordOf(kind: ListKind, member: Member, day: number, publishedAt: Date): string {
  const luck = hash(member.index, 300);
  // A new member's start date may be later than the publication that first names the member.
  const start = new Date(
    member.since > 1
      ? publishedAt.getTime() - (day - member.since - 3) * dayMs
      : Date.UTC(2003 + (luck % 22), (luck >>> 8) % 12, 1, 12),
  );
  const [year, month, dayOfMonth] = limaDay(start).split('-');
  const cells = [member.ruc, nameOf(member), `${dayOfMonth}/${month}/${year}`, resolutionOf(kind, luck, year!)];
  return cells.map((cell) => `${cell}|`).join('');
}

// The real lists have names in quotes, names with an unclosed quote, names with a Windows-1252 dash, and cut names.
function nameOf({ name, index }: Member): string {
  const luck = hash(index, 301) % 40;
  const written = luck === 0 ? `"${name}"` : luck === 1 ? `"${name}` : luck === 2 ? `${name} – SUC. PERÚ` : name;
  return written.slice(0, longestName);
}

function resolutionOf(kind: ListKind, luck: number, year: string): string {
  const number = (luck >>> 4) % 300;
  if (kind === 'buenos_contribuyentes')
    return `${luck % 50 === 0 ? 'RS RS' : 'RS'} 02300503${10_000 + (luck % 80_000)}`;
  return luck % 3 === 0 ? `RS R.S. ${number}-${year}` : `RS R.S.${number}-${year}`;
}

const titles = {
  agentes_retencion: 'Padrón de Agentes de Retención del IGV',
  buenos_contribuyentes: 'Padrón de Buenos Contribuyentes',
} as const;

/** Like the official page, this page names the day of publication (dd/mm/yyyy) beside the file. */
export function listPage(kind: keyof typeof titles, file: string, publishedAt: Date): string {
  return page(`<h2>${titles[kind]}</h2>
<p>Actualizado al : ${written(publishedAt)}</p>
<p><a href="${file}">${file}</a></p>`);
}

/** Like the official page, this page names the day of publication (dd/mm/yyyy) beside the file. */
export function dailyRegisterPage(publishedAt: Date): string {
  return page(`<div class="titulo">Padrón Reducido del RUC <b>${written(publishedAt)}</b></div>
<p><a href="padron_reducido_ruc.zip">padrón_reducido_RUC.zip</a></p>`);
}

function written(at: Date): string {
  return limaDay(at).split('-').reverse().join('/');
}

function page(body: string): string {
  return `<!DOCTYPE html>
<html lang="es"><head><meta charset="utf-8"><title>SUNAT</title></head>
<body>
${body}
</body></html>
`;
}
