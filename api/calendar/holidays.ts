import pascua from 'pascua';
import type { DeadlineAnswer, Sector, YearRange } from '../../schemas/http/calendar.ts';
import { type DayNumber, dayNumberOf, isWeekend, perYear, toDate, toDayNumber, weekdayOf, yearOfDay } from './days.ts';
import type { Decree, Holiday } from './types.ts';

/**
 * The first and last year about which the calendar answers. 1995 is the first whole year after Ley 26331 (June 1994).
 * Before that law, holidays moved to Mondays. The last year follows from no law: it only bounds the requests.
 */
export const holidayYears = { desde: 1995, hasta: 2199 } as const;

/** Returns the statutory holidays of a year, ascending. */
export function holidaysIn(year: number, holidays: readonly Holiday[]): ReadonlyMap<DayNumber, Holiday> {
  const days = holidays
    .filter((holiday) => isKept(holiday, year))
    .map((holiday): [DayNumber, Holiday] => [dayIn(year, holiday), holiday]);
  return new Map(days.sort(([one], [other]) => one - other));
}

/** Returns the holiday on a day. Each year is computed once. */
export type HolidayOn = (day: DayNumber) => Holiday | undefined;

export function makeHolidayOn(holidays: readonly Holiday[]): HolidayOn {
  const holidaysOf = perYear((year) => holidaysIn(year, holidays));
  return (day) => holidaysOf(yearOfDay(day)).get(day);
}

/** For tax, Monday to Friday are business days except on holidays. Decrees of non-working days do not change that. */
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

/** Returns the Spanish reason why a day is not a business day, or null for a business day. */
export type ReasonOf = (day: DayNumber, sector: Sector) => string | null;

/**
 * Makes the function that returns why a day is not a business day, or null for a business day. In both sectors weekends
 * and holidays are not business days. In the public sector the non-working days of decrees are not business days
 * either. Sources: TUO Ley 27444 art. 145; Código Tributario, Título Preliminar, Norma XII.
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

/** Counts business days from the day after `from` (TUO Ley 27444 art. 144.1). The last counted day is the due date. */
export function countDays(
  from: DayNumber,
  days: number,
  sector: Sector,
  reasonOf: ReasonOf,
): Pick<DeadlineAnswer, 'vence' | 'saltados'> {
  const saltados: DeadlineAnswer['saltados'] = [];
  let day = from;
  for (let counted = 0; counted < days; ) {
    day += 1;
    const motivo = reasonOf(day, sector);
    if (motivo === null) counted += 1;
    else saltados.push({ fecha: toDate(day), motivo });
  }
  return { vence: toDate(day), saltados };
}

/** A non-working day of the public sector, with its decree. */
export interface NonWorkingDay {
  date: string;
  name: string;
  decree: string;
}

/** Returns the non-working days by day number. When two decrees name the same day, the decree loaded later wins. */
export function nonWorkingDays(decrees: readonly Decree[]): ReadonlyMap<DayNumber, NonWorkingDay> {
  return new Map(
    decrees.flatMap(({ decree, days }) =>
      days.map(({ date, name }): [DayNumber, NonWorkingDay] => [toDayNumber(date), { date, name, decree }]),
    ),
  );
}

/**
 * Returns the first and last day of the longest run of consecutive years whose decrees are all loaded. Among equally
 * long runs the latest wins. When no year is complete, `hasta` is before `desde`.
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
