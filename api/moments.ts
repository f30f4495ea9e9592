import { limaDay, startOfLimaDay } from '../schemas/lima-time.ts';

/** Bounds of a filter by time. A moment is a day in Lima, taken whole, or an instant; `desde` and `hasta` are included. */

const secondMs = 1_000;
/** Of a day in Lima, where no clock is changed. */
const dayMs = 86_400_000;

export function instantFrom(moment: string): Date {
  return isDay(moment) ? startOfLimaDay(moment) : new Date(moment);
}

/**
 * The first instant that is not included: times are kept in microseconds, so the end of one is no instant to compare with. One
 * given to the second means that second whole: to the second is how times are shown.
 */
export function instantAfter(moment: string): Date {
  const stepMs = isDay(moment) ? dayMs : moment.includes('.') ? 1 : secondMs;
  return new Date(instantFrom(moment).getTime() + stepMs);
}

/** The day in Lima on which the moment is. */
export function dayOf(moment: string): string {
  return isDay(moment) ? moment : limaDay(new Date(moment));
}

function isDay(moment: string): boolean {
  return moment.length === 10;
}
