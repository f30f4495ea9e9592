import type { YearRange } from '../../schemas/http/calendar.ts';
import { type DayNumber, toDayNumber } from './days.ts';
import { holidayYears } from './holidays.ts';
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
 * The days for which all decrees are loaded, first and last included: the longest run of complete years, the later of two
 * as long, so that a year loaded far away from the others does not take these back. Without any, `hasta` precedes `desde`.
 */
export function completeDays(decrees: readonly Decree[]): { desde: string; hasta: string } {
  const complete = new Set(decrees.map((decree) => decree.completesYear).filter((year) => year !== null));
  let best: YearRange = { desde: holidayYears.desde, hasta: holidayYears.desde - 1 };
  for (const desde of [...complete].sort((one, other) => one - other)) {
    let hasta = desde;
    while (complete.has(hasta + 1)) hasta += 1;
    if (hasta - desde >= best.hasta - best.desde) best = { desde, hasta };
  }
  return { desde: `${best.desde}-01-01`, hasta: `${best.hasta}-12-31` };
}
