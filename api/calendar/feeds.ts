import ical, { type ICalCalendar, type ICalEventData, ICalEventTransparency } from 'ical-generator';
import type { Digit, HolidayAnswer } from '../../schemas/http/calendar.ts';
import type { DueDate } from './types.ts';

/** Feeds of RFC 5545. All events last a whole day and block nobody's time. */

/** How often a calendar program is asked to come back. */
const refreshSeconds = 12 * 3_600;
/** Part of every event's identity: once it is changed, every subscriber sees each event twice. */
const uidDomain = 'calendario.padron';

/** `updatedAt`: when the data last changed; an event's stamp, so that the same data give the same bytes. */
export function holidaysFeed(days: readonly HolidayAnswer[], updatedAt: string): string {
  const feed = emptyFeed('Feriados y días no laborables del Perú', 'Solo días de alcance nacional.');
  for (const { fecha, nombre, norma, tipo } of days) {
    const forWhom = tipo === 'feriado' ? 'Feriado nacional.' : 'Día no laborable para el sector público.';
    // A holiday is its date: one that is kept on another day is another holiday, so its sequence stays 0.
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
  /** The warning about dates moved for some taxpayers. */
  prorrogas: string;
}

/** An event is a period's due date: when that date moves, the same event comes with a higher sequence. */
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

/** Neither text may have a comma or a semicolon: the library escapes those of events alone. */
function emptyFeed(name: string, description: string): ICalCalendar {
  return ical({
    name,
    description,
    prodId: { company: 'Padrón', product: 'Calendario', language: 'ES' },
    ttl: refreshSeconds,
  });
}

/** The library leaves the last line open; RFC 5545 (section 3.4) ends it like every other. */
function textOf(feed: ICalCalendar): string {
  return `${feed.toString()}\r\n`;
}

// Days are given as text: a Date would be an instant, which another time zone reads as another day.
function wholeDay(day: string, updatedAt: string): ICalEventData {
  return { start: day, allDay: true, stamp: new Date(updatedAt), transparency: ICalEventTransparency.TRANSPARENT };
}
