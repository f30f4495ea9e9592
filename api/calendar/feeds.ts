import ical, { type ICalCalendar, type ICalEventData, ICalEventTransparency } from 'ical-generator';
import type { Digit, HolidayAnswer } from '../../schemas/http/calendar.ts';
import type { DueDate } from './types.ts';

// iCalendar feeds (RFC 5545). Every event lasts a whole day and does not mark the subscriber as busy.

/** How often a calendar program should read the feed again. */
const refreshSeconds = 12 * 3_600;
/** Part of every event's UID. If this text changed, every subscriber would see each event twice. */
const uidDomain = 'calendario.padron';

/** @param updatedAt when the data last changed; it is the stamp of every event, so equal data give equal bytes */
export function holidaysFeed(days: readonly HolidayAnswer[], updatedAt: string): string {
  const feed = emptyFeed('Feriados y días no laborables del Perú', 'Solo días de alcance nacional.');
  for (const { fecha, nombre, norma, tipo } of days) {
    const forWhom = tipo === 'feriado' ? 'Feriado nacional.' : 'Día no laborable para el sector público.';
    // The UID contains the date, so a holiday that moves becomes another event. The sequence therefore stays 0.
    feed.createEvent({
      ...wholeDay(fecha, updatedAt),
      id: `${tipo}-${fecha}@${uidDomain}`,
      sequence: 0,
      summary: nombre,
      description: `${forWhom} Norma: ${norma}.`,
    });
  }
  return textOf(feed);
}

export interface DueDatesFeed {
  digit: Digit;
  goodTaxpayer: boolean;
  dueDates: readonly DueDate[];
  updatedAt: string;
  /** A warning that SUNAT or a decree may have moved the dates of some taxpayers. */
  prorrogas: string;
}

/** Each event is one period's due date. When the date moves, the event keeps its UID and gets a higher sequence. */
export function dueDatesFeed({ digit, goodTaxpayer, dueDates, updatedAt, prorrogas }: DueDatesFeed): string {
  const whose = goodTaxpayer ? 'buenos contribuyentes' : `RUC terminado en ${digit}`;
  const group = goodTaxpayer ? 'buenos-contribuyentes' : digit;
  const feed = emptyFeed(`Vencimientos SUNAT - ${whose}`, prorrogas);
  for (const { period, due, state, source, revision } of dueDates) {
    const [year, month] = period.split('-');
    const how = state === 'publicado' ? 'Fecha publicada' : 'Fecha calculada';
    feed.createEvent({
      ...wholeDay(due, updatedAt),
      id: `vencimiento-${period}-${group}@${uidDomain}`,
      sequence: revision,
      summary: `Vencimiento SUNAT ${month}/${year}, ${whose}`,
      description: `${how}: ${source}. ${prorrogas}`,
    });
  }
  return textOf(feed);
}

/** `name` and `description` must not contain a comma or semicolon, because the library escapes only events' texts. */
function emptyFeed(name: string, description: string): ICalCalendar {
  return ical({
    name,
    description,
    prodId: { company: 'Padrón', product: 'Calendario', language: 'ES' },
    ttl: refreshSeconds,
  });
}

/** Adds the last line break, which the library omits. RFC 5545 (section 3.4) requires a line break after every line. */
function textOf(feed: ICalCalendar): string {
  return `${feed.toString()}\r\n`;
}

// The start is a text, because a Date is an instant, which can fall on another day in another time zone.
function wholeDay(day: string, updatedAt: string): ICalEventData {
  return { start: day, allDay: true, stamp: new Date(updatedAt), transparency: ICalEventTransparency.TRANSPARENT };
}
