import ical, { type ICalCalendar, type ICalEventData, ICalEventTransparency } from 'ical-generator';
import type { Digit, HolidayAnswer } from '../../schemas/http/calendar.ts';
import type { DueDate } from './types.ts';

// iCalendar feeds (RFC 5545). All events last a whole day and do not block anyone's time.

/** How often a calendar program should read the feed again. */
const refreshSeconds = 12 * 3_600;
/** Part of every event's UID. If it changed, every subscriber would see each event twice. */
const uidDomain = 'calendario.padron';

/** @param updatedAt when the data last changed; it is each event's stamp, so the same data give the same bytes */
export function holidaysFeed(days: readonly HolidayAnswer[], updatedAt: string): string {
  const feed = emptyFeed('Feriados y días no laborables del Perú', 'Solo días de alcance nacional.');
  for (const { fecha, nombre, norma, tipo } of days) {
    const forWhom = tipo === 'feriado' ? 'Feriado nacional.' : 'Día no laborable para el sector público.';
    // The date is part of the UID, so a holiday on another day is another event and the sequence stays 0.
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

/** Neither text may contain a comma or a semicolon, because the library escapes only those of events. */
function emptyFeed(name: string, description: string): ICalCalendar {
  return ical({
    name,
    description,
    prodId: { company: 'Padrón', product: 'Calendario', language: 'ES' },
    ttl: refreshSeconds,
  });
}

/** The library leaves the last line open; RFC 5545 (section 3.4) ends every line. */
function textOf(feed: ICalCalendar): string {
  return `${feed.toString()}\r\n`;
}

// The day is given as text, because a Date is an instant that another time zone reads as another day.
function wholeDay(day: string, updatedAt: string): ICalEventData {
  return { start: day, allDay: true, stamp: new Date(updatedAt), transparency: ICalEventTransparency.TRANSPARENT };
}
