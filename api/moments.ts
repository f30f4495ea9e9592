import { limaDay, startOfLimaDay } from '../schemas/lima-time.ts';

/** Bounds of a filter by time. A moment is a day in Lima, taken whole, or an instant; `desde` and `hasta` are included. */

export function instantFrom(moment: string): Date {
  return isDay(moment) ? startOfLimaDay(moment) : new Date(moment);
}

/** The first instant that is not included: times are kept in microseconds, so the end of one is no instant to compare with. */
export function instantAfter(moment: string): Date {
  return isDay(moment) ? startOfLimaDay(dayAfter(moment)) : new Date(new Date(moment).getTime() + 1);
}

/** The day in Lima on which the moment is. */
export function dayOf(moment: string): string {
  return isDay(moment) ? moment : limaDay(new Date(moment));
}

function isDay(moment: string): boolean {
  return moment.length === 10;
}

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
}
