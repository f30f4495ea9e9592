/** Whole days, counted from 1970-01-01 (0) in UTC: no time zone, no hour, no summer time can shift them. */
export type DayNumber = number;

const dayMs = 86_400_000;
const weekdays = ['domingo', 'lunes', 'martes', 'miércoles', 'jueves', 'viernes', 'sábado'] as const;

export function dayNumberOf(year: number, month: number, day: number): DayNumber {
  return Date.UTC(year, month - 1, day) / dayMs;
}

/** @throws RangeError when the text is no day: callers check what comes from outside with `isDay`. */
export function toDayNumber(date: string): DayNumber {
  const number = Date.parse(`${date}T00:00:00Z`) / dayMs;
  if (!Number.isInteger(number)) throw new RangeError('not a day of the form YYYY-MM-DD');
  return number;
}

export function toDate(day: DayNumber): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

/** YYYY-MM-DD and a day that exists: 2026-02-29 does not, nor does any of the year 0000, which PostgreSQL does not know either. */
export function isDay(text: string): boolean {
  if (!/^(?!0000)\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  // The parser reads 30 February as 2 March.
  return !Number.isNaN(time) && toDate(time / dayMs) === text;
}

export function yearOf(date: string): number {
  return Number(date.slice(0, 4));
}

export function yearOfDay(day: DayNumber): number {
  return new Date(day * dayMs).getUTCFullYear();
}

/** In Spanish, lower case. */
export function weekdayOf(day: DayNumber): string {
  return weekdays[weekdayIndex(day)]!;
}

export function isWeekend(day: DayNumber): boolean {
  return weekdayIndex(day) % 6 === 0;
}

// Day 0 was a Thursday; the double remainder keeps days before it right.
function weekdayIndex(day: DayNumber): number {
  return (((day + 4) % 7) + 7) % 7;
}
