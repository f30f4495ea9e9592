import { type DayNumber, toDayNumber } from './days.ts';
import type { Decree } from './types.ts';

/** A public sector's non-working day with the decree that set it. */
export interface NonWorkingDay {
  date: string;
  name: string;
  decree: string;
}

/** Of decrees that name the same day the one loaded later. */
export function nonWorkingDays(decrees: readonly Decree[]): ReadonlyMap<DayNumber, NonWorkingDay> {
  return new Map(
    decrees.flatMap(({ decree, days }) =>
      days.map(({ date, name }): [DayNumber, NonWorkingDay] => [toDayNumber(date), { date, name, decree }]),
    ),
  );
}

/**
 * The days for which all decrees are loaded: the longest run of complete years, so that a year loaded far away from the
 * others does not take these back. First and last day, both included.
 * @throws RangeError when no decree completes a year: a release always carries some.
 */
export function completeDays(decrees: readonly Decree[]): { desde: string; hasta: string } {
  const complete = new Set(decrees.map((decree) => decree.completesYear).filter((year) => year !== null));
  let best = { first: 0, years: 0 };
  for (const first of complete) {
    let years = 1;
    while (complete.has(first + years)) years += 1;
    if (years > best.years) best = { first, years };
  }
  if (best.years === 0) throw new RangeError('no decree completes a year');
  return { desde: `${best.first}-01-01`, hasta: `${best.first + best.years - 1}-12-31` };
}
