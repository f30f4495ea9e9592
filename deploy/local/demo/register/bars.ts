import { judicialLayout, tribunalLayout } from '../../../../pipelines/registers/supplier-bars.ts';
import { encodeWindows1252 } from '../../../../pipelines/registers/windows-1252.ts';
import { limaDay } from '../../../../schemas/lima-time.ts';
import { isCompany } from '../../../../schemas/ruc.ts';
import { hash, type Member, type Membership, membersOn, type Population } from './population.ts';

/**
 * The three files of barred suppliers that the state-procurement body publishes. The files are histories, so a supplier
 * may have several rows. Their lines end in CRLF, their encoding is Windows-1252, and nothing is quoted.
 */
export type BarKind = 'sancionados' | 'inhabilitaciones_judiciales' | 'inhabilitaciones_administrativas';

// A file has at most `most` suppliers, and at most the fraction `share` of all taxpayers. The first supplier stands at
// the fraction `part` of the population. In 2022 `sancionados` had 8,661 rows of 6,219 suppliers.
const sizes: Record<BarKind, { most: number; share: number; part: number; salt: number }> = {
  sancionados: { most: 6_219, share: 0.01, part: 2 / 3, salt: 400 },
  inhabilitaciones_judiciales: { most: 60, share: 0.002, part: 1 / 5, salt: 410 },
  inhabilitaciones_administrativas: { most: 40, share: 0.002, part: 1 / 7, salt: 420 },
};

/** The suppliers in a file. A supplier never leaves it, because the file is a history. */
function suppliersOf(kind: BarKind, population: Population): Membership {
  const { most, share, part } = sizes[kind];
  const count = Math.min(most, Math.floor(population.rows * share));
  return { population, count, from: Math.floor(population.rows * part), entering: 1, leaving: 0, onePersonIn: 27 };
}

/** The RUC of a company that has a sanction without an end on day 1, or undefined when there is no such company. */
export function barredForGood(population: Population): string | undefined {
  const companies = membersOn(suppliersOf('sancionados', population), 1).filter(({ ruc }) => isCompany(ruc));
  const sanctions = (index: number) => sanctionsOf(hash(index, sizes.sancionados.salt));
  return companies.find(({ index }) => sanctions(index).some(({ end }) => end === null))?.ruc;
}

interface Sanction {
  start: Date;
  /** Null when the sanction never ends. */
  end: Date | null;
  number: string;
}

/**
 * Returns the file's content on a day. Its column FECHA_CORTE is the day of `publishedAt`. Each day after the first
 * adds one new supplier, and one later sanction (`laterSanction`) to an earlier supplier.
 */
export function barText(kind: BarKind, population: Population, day: number, publishedAt: Date): Uint8Array {
  const cut = compact(publishedAt);
  const members = membersOn(suppliersOf(kind, population), day);
  const lines = members.flatMap((member, place) => {
    const luck = hash(member.index, sizes[kind].salt);
    const sanctions = sanctionsOf(luck);
    if (place < day - 1) sanctions.push(laterSanction(place));
    return sanctions.map((sanction) => [cut, ...cellsOf(kind, member, place, sanction, luck)].join('|'));
  });
  const { names } = kind === 'inhabilitaciones_judiciales' ? judicialLayout : tribunalLayout;
  return encodeWindows1252([names.join('|'), ...lines].map((line) => `${line}\r\n`).join(''));
}

function sanctionsOf(luck: number): Sanction[] {
  const count = luck % 10 < 7 ? 1 : luck % 10 === 9 ? 3 : 2;
  return Array.from({ length: count }, (_, position) => {
    const start = new Date(Date.UTC(1998 + ((luck >>> (4 + position)) % 27), (luck >>> 9) % 12, 1 + position, 12));
    return { start, end: endOf(start, luck >>> position), number: `${1 + (luck % 4_000)}-${start.getUTCFullYear()}` };
  });
}

/** From day 2 on, each day adds a sanction to one more supplier. The sanction stays the same on all later days. */
function laterSanction(place: number): Sanction {
  const start = new Date(Date.UTC(2026, 9, 1 + (place % 28), 12));
  return { start, end: endOf(start, 1), number: `${5_000 + place}-2026` };
}

function endOf(start: Date, luck: number): Date | null {
  if (luck % 10 === 0) return null;
  const end = new Date(start);
  // An end one day before the start means that the bar was annulled and was never in force.
  if (luck % 290 === 3) end.setUTCDate(end.getUTCDate() - 1);
  else end.setUTCMonth(end.getUTCMonth() + 3 + (luck % 45));
  return end;
}

function cellsOf(kind: BarKind, member: Member, place: number, sanction: Sanction, luck: number): string[] {
  const [start, end] = [compact(sanction.start), sanction.end === null ? '' : compact(sanction.end)];
  if (kind === 'inhabilitaciones_judiciales') {
    const id = place % 4 === 3 ? nationalId(luck) : member.ruc;
    return [id, member.name, 'JUZGADO PENAL DE PRUEBA', `EXP. ${sanction.number}`, start, end];
  }
  const motive = luck % 2 === 0 ? 'PRESENTAR INFORMACIÓN\u00a0INEXACTA' : 'INCUMPLIR – CONTRATO DE PRUEBA';
  const id = place % 110 === 109 ? foreignCode(luck) : member.ruc;
  return [
    id,
    member.name,
    start,
    end,
    `${sanction.number}-TCE-S${1 + (luck % 4)}`,
    luck % 2 === 0 ? '214,215,' : '221,',
    motive,
  ];
}

const foreignCode = (luck: number) => `99${String(luck % 1_000_000_000).padStart(9, '0')}`;
const nationalId = (luck: number) => `99${String(luck % 1_000_000).padStart(6, '0')}`;

function compact(at: Date): string {
  return limaDay(at).replaceAll('-', '');
}
