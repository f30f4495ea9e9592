import type { YearRange } from '../../schemas/http/calendar.ts';

/** The number of days from 1970-01-01 to a day. It is the same in every time zone. */
export type DayNumber = number;

const dayMs = 86_400_000;
const weekdays = ['domingo', 'lunes', 'martes', 'miércoles', 'jueves', 'viernes', 'sábado'] as const;

export function dayNumberOf(year: number, month: number, day: number): DayNumber {
  return Date.UTC(year, month - 1, day) / dayMs;
}

/** @throws RangeError when the text is not a day; callers check input from outside with `isDay` first */
export function toDayNumber(date: string): DayNumber {
  const number = Date.parse(`${date}T00:00:00Z`) / dayMs;
  if (!Number.isInteger(number)) throw new RangeError('not a day of the form YYYY-MM-DD');
  return number;
}

export function toDate(day: DayNumber): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

/** The last `count` days up to `last`, oldest first, each YYYY-MM-DD. */
export function daysUntil(last: string, count: number): string[] {
  const first = toDayNumber(last) - count + 1;
  return Array.from({ length: count }, (_, place) => toDate(first + place));
}

/** Whether the text is YYYY-MM-DD and the day exists. The year 0000 is refused, because PostgreSQL has no such year. */
export function isDay(text: string): boolean {
  if (!/^(?!0000)\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  // Date.parse reads 30 February as 2 March, so the parsed day must give the same text again.
  return !Number.isNaN(time) && toDate(time / dayMs) === text;
}

/** The last day of the month of this day. Both are YYYY-MM-DD. */
export function lastDayOfMonth(date: string): string {
  const [year, month] = date.split('-').map(Number) as [number, number];
  return toDate(dayNumberOf(year, month + 1, 0));
}

export function yearOf(date: string): number {
  return Number(date.slice(0, 4));
}

export function yearOfDay(day: DayNumber): number {
  return new Date(day * dayMs).getUTCFullYear();
}

export function isWithin(year: number, { desde, hasta }: YearRange): boolean {
  return year >= desde && year <= hasta;
}

/** Returns a function that computes the value of each year only once. */
export function perYear<Value>(compute: (year: number) => Value): (year: number) => Value {
  const known = new Map<number, Value>();
  return (year) => {
    const value = known.get(year) ?? compute(year);
    known.set(year, value);
    return value;
  };
}

/** The weekday in Spanish, in lower case. */
export function weekdayOf(day: DayNumber): string {
  return weekdays[weekdayIndex(day)]!;
}

export function isWeekend(day: DayNumber): boolean {
  return weekdayIndex(day) % 6 === 0;
}

// Day 0 (1970-01-01) was a Thursday, which is index 4. The second remainder makes the index of earlier days positive.
function weekdayIndex(day: DayNumber): number {
  return (((day + 4) % 7) + 7) % 7;
}
