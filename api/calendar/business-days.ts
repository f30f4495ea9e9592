import type { Sector } from '../../schemas/http/calendar.ts';
import { type DayNumber, isWeekend, weekdayOf } from './days.ts';
import type { HolidayOn } from './holidays.ts';
import type { NonWorkingDay } from './non-working-days.ts';

/** Why a day does not count, as the API says it; null: it counts. */
export type ReasonOf = (day: DayNumber, sector: Sector) => string | null;

/**
 * Two calendars (TUO Ley 27444 art. 145; Código Tributario, Título Preliminar, Norma XII): both leave out weekends and
 * holidays, the public sector's also the non-working days.
 */
export function makeReasonOf(holidayOn: HolidayOn, nonWorking: ReadonlyMap<DayNumber, NonWorkingDay>): ReasonOf {
  return (day, sector) => {
    const holiday = holidayOn(day);
    if (holiday !== undefined) return holiday.name;
    const decreed = sector === 'publico' ? nonWorking.get(day) : undefined;
    if (decreed !== undefined) return decreed.name;
    return isWeekend(day) ? weekdayOf(day) : null;
  };
}

export interface CountedDeadline {
  due: DayNumber;
  /** Days not counted after the start and before `due`, ascending. */
  skipped: { day: DayNumber; reason: string }[];
}

/** Counts business days from the day after `from` (TUO Ley 27444 art. 144.1): the last one counted is the day due. */
export function countDays(from: DayNumber, days: number, sector: Sector, reasonOf: ReasonOf): CountedDeadline {
  const skipped: CountedDeadline['skipped'] = [];
  let due = from;
  for (let counted = 0; counted < days; ) {
    due += 1;
    const reason = reasonOf(due, sector);
    if (reason === null) counted += 1;
    else skipped.push({ day: due, reason });
  }
  return { due, skipped };
}
