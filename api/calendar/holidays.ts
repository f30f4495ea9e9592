import pascua from 'pascua';
import { type DayNumber, dayNumberOf, isWeekend, yearOfDay } from './days.ts';
import type { Holiday } from './types.ts';

/**
 * From 1995, the first whole year after Ley 26331 (June 1994) ended the moves to Monday; the end is a limit of reason.
 * Both years included.
 */
export const holidayYears = { desde: 1995, hasta: 2199 } as const;

export type HolidaysByDay = ReadonlyMap<DayNumber, Holiday>;

/** The statutory holidays of any year, ascending. */
export function holidaysIn(year: number, holidays: readonly Holiday[]): HolidaysByDay {
  const days = holidays
    .filter((holiday) => isKept(holiday, year))
    .map((holiday): [DayNumber, Holiday] => [dayIn(year, holiday), holiday]);
  return new Map(days.sort(([one], [other]) => one - other));
}

/** Asks for a day's holiday; a year is computed once. */
export type HolidayOn = (day: DayNumber) => Holiday | undefined;

export function makeHolidayOn(holidays: readonly Holiday[]): HolidayOn {
  const years = new Map<number, HolidaysByDay>();
  return (day) => {
    const year = yearOfDay(day);
    let known = years.get(year);
    if (known === undefined) {
      known = holidaysIn(year, holidays);
      years.set(year, known);
    }
    return known.get(day);
  };
}

/** For tax: Monday to Friday and no holiday. Decrees of non-working days do not count here, whatever they say of offices. */
export function isTaxBusinessDay(day: DayNumber, holidayOn: HolidayOn): boolean {
  return !isWeekend(day) && holidayOn(day) === undefined;
}

function isKept({ firstYear, lastYear, exceptions }: Holiday, year: number): boolean {
  if (year < firstYear || year > (lastYear ?? Number.POSITIVE_INFINITY)) return false;
  return !exceptions.some((exception) => exception.year === year);
}

function dayIn(year: number, { on }: Holiday): DayNumber {
  if ('month' in on) return dayNumberOf(year, on.month, on.day);
  const easter = pascua(year);
  return dayNumberOf(year, easter.month, easter.day) + on.fromEasterDays;
}
