import ical from 'ical-generator';
import { expectedAfter } from '../../../pipelines/editions/habit.ts';
import { limaTime } from '../../../schemas/lima-time.ts';
import { allIncidents, type RegisterStatus, type Status } from '../../queries/register-status.ts';
import type { ApiContext, ApiRouter } from '../../request.ts';
import { type FixedText, fixedText, sendFixed } from '../answers.ts';
import { longDay, number } from '../formats.ts';
import { originOf, prefixOf, type Site } from '../sessions/cookies.ts';
import type { StatusDependencies } from './status.tsx';
import { duration, habitSentence, incidentTitle, registerTitle, standingSentence, standingWords } from './words.ts';

// The status for programs, without a token: JSON, Atom (RFC 4287), and the expected publications as iCalendar (RFC
// 5545). They come from memory as the pages do.

type WriteFeed = (status: Status, now: Date, address: string) => string;

const feeds = {
  json: { type: 'application/json', write: statusJson },
  atom: { type: 'application/atom+xml; charset=utf-8', write: statusAtom },
  ics: { type: 'text/calendar; charset=utf-8', write: statusCalendar },
} satisfies Record<string, { type: string; write: WriteFeed }>;

export function mountStatusFeeds(
  router: ApiRouter,
  { readStatus, now, site }: StatusDependencies & { site: Site },
): void {
  for (const [name, { type, write }] of Object.entries(feeds)) {
    // Each feed is written and compressed once for a status and an address.
    let last: { status: Status; address: string; text: FixedText } | null = null;
    router.get(`/estado.${name}`, async (context) => {
      const status = await readStatus();
      const address = `${originOf(context, site)}${prefixOf(site)}`;
      if (last?.status !== status || last.address !== address)
        last = { status, address, text: fixedText(write(status, now(), address)) };
      send(context, type, last.text, status.readAt);
    });
  }
}

function send(context: ApiContext, type: string, text: FixedText, modifiedAt: Date): void {
  // The status is public, so a page of another site may show it.
  context.set('Access-Control-Allow-Origin', '*');
  sendFixed(context, text, { type, cacheControl: 'public, max-age=60', modifiedAt });
}

/** The document says when it was read. Its age is the reader's to compute, so that equal data give equal bytes. */
export function statusJson(status: Status, _now: Date, address: string): string {
  const data = status.registers.map((each) => registerJson(each, address));
  const incidencias = allIncidents(status).map(({ register, kind, from, to, edition }) => ({
    registro: register,
    tipo: kind,
    texto: incidentTitle(kind),
    desde: moment(from),
    hasta: moment(to),
    edicion: edition,
  }));
  return JSON.stringify({ success: true, data, incidencias, meta: { leido_en: limaTime(status.readAt) } });
}

function registerJson(status: RegisterStatus, address: string) {
  const { register, title, standing, served, verification, probedAt, expected, habit } = status;
  return {
    registro: register,
    titulo: title,
    estado: standing.name,
    estado_texto: standingSentence(status),
    estado_desde: moment(standing.since),
    fecha_dato: served?.fechaDato ?? null,
    publicado_en: moment(served?.publishedAt),
    cargado_en: moment(served?.servedAt),
    edicion: served?.number ?? null,
    filas: served?.rows ?? null,
    cambios: served === null || served.isFull ? null : served.changes,
    carga_completa: served?.isFull ?? null,
    sha256: served?.sha256 ?? null,
    verificado_en: moment(verification?.checkedAt),
    verificado_igual: verification?.equal ?? null,
    consultado_en: moment(probedAt),
    proxima_esperada: moment(expected?.at),
    atrasada_desde: moment(expected?.overdueAt),
    costumbre: habitSentence(habit),
    pagina: `${address}/estado/${register}`,
  };
}

function moment(at: Date | null | undefined): string | null {
  return at == null ? null : limaTime(at);
}

/** Newest entries that the Atom feed has. A reader asks every hour or so, and misses none. */
const maxEntries = 100;

interface Entry {
  id: string;
  title: string;
  at: Date;
  link: string;
  text: string;
}

export function statusAtom(status: Status, _now: Date, address: string): string {
  const newest = [...editionEntries(status, address), ...incidentEntries(status, address)]
    .sort((one, other) => other.at.getTime() - one.at.getTime())
    .slice(0, maxEntries);
  const self = `${address}/estado.atom`;
  const entries = newest.map(
    ({ id, title, at, link, text }) =>
      `<entry><id>${xml(id)}</id><title>${xml(title)}</title><updated>${limaTime(at)}</updated>` +
      `<link href="${xml(link)}"/><content type="text">${xml(text)}</content></entry>`,
  );
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="es">',
    '<id>urn:padron:estado</id><title>Padrón: estado de los datos</title>',
    `<link rel="self" type="application/atom+xml" href="${xml(self)}"/><link href="${xml(`${address}/estado`)}"/>`,
    `<author><name>Padrón</name></author><updated>${limaTime(newest[0]?.at ?? status.readAt)}</updated>`,
    ...entries,
    '</feed>',
    '',
  ].join('\n');
}

function editionEntries({ registers }: Status, address: string): Entry[] {
  return registers.flatMap(({ register, versions }) =>
    versions.flatMap(({ edition, servedAt, fechaDato, changes, rows, sha256, isFull }): Entry[] => {
      if (edition === null || servedAt === null || fechaDato === null) return [];
      const counted = isFull ? 'Carga completa.' : `${number(changes ?? 0)} cambios.`;
      const size = rows === null ? '' : ` ${number(rows)} filas.`;
      return [
        {
          id: `urn:padron:edicion:${register}:${edition}`,
          title: `${registerTitle(register)}: datos del ${longDay(fechaDato)}`,
          at: servedAt,
          link: `${address}/estado/${register}`,
          text: `Edición ${edition}. ${counted}${size} SHA-256 del archivo: ${sha256 ?? 'no tiene'}.`,
        },
      ];
    }),
  );
}

/** The entry of an incident keeps its id when the incident ends, so a feed reader shows it again as changed. */
function incidentEntries(status: Status, address: string): Entry[] {
  return allIncidents(status).map(({ register, kind, from, to }) => ({
    id: `urn:padron:incidencia:${register}:${kind}:${from.toISOString()}`,
    title: `${registerTitle(register)}: ${incidentTitle(kind)}`,
    at: to ?? from,
    link: `${address}/estado/${register}`,
    text:
      to === null ? `Empezó el ${limaTime(from)} y sigue.` : `Duró ${duration(from, to)}, hasta el ${limaTime(to)}.`,
  }));
}

/** XML 1.0 has no way to write most control characters, so they are left out. */
function xml(text: string): string {
  const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML forbids
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, '').replace(/[&<>"]/g, (mark) => marks[mark]!);
}

/** Publications of a register that the calendar foresees. */
const foreseen = { daily: 7, monthly: 3, irregular: 1 } as const;
const eventMinutes = 30;

export function statusCalendar({ registers }: Status, now: Date): string {
  const feed = ical({
    name: 'Publicaciones esperadas de los registros',
    description: 'Por la costumbre de cada autoridad. Ninguna promete una hora.',
    prodId: { company: 'Padrón', product: 'Estado', language: 'ES' },
    ttl: 3_600,
  });
  for (const { register, habit, served, newestAt, standing } of registers) {
    if (habit === null || newestAt === null) continue;
    for (const start of expectedAfter(habit, newestAt, now, foreseen[habit.rhythm])) {
      feed.createEvent({
        id: `publicacion-${register}-${limaTime(start).slice(0, 10)}@estado.padron`,
        start,
        end: new Date(start.getTime() + eventMinutes * 60_000),
        // Equal data give equal bytes.
        stamp: served?.servedAt ?? newestAt,
        summary: `Se espera: ${registerTitle(register)}`,
        description: `${habitSentence(habit)} Ahora: ${standingWords[standing.name]}.`,
      });
    }
  }
  // RFC 5545 (section 3.4) requires a line break after every line, and the library omits the last one.
  return `${feed.toString()}\r\n`;
}
