import {
  type BusinessDayAnswer,
  digits,
  type HolidayAnswer,
  type ScheduleAnswer,
  type Sector,
  type UpcomingDueDate,
} from '../../schemas/http/calendar.ts';
import type { ReasonOf } from './business-days.ts';
import { type DayNumber, toDate, toDayNumber, weekdayOf, yearOf } from './days.ts';
import { groupOf } from './due-dates.ts';
import { type HolidayOn, holidaysIn, isTaxBusinessDay } from './holidays.ts';
import type { NonWorkingDay } from './non-working-days.ts';
import type { ScheduledPeriod } from './schedule.ts';
import type { CalendarData, DueDate } from './types.ts';

/** The calendar's facts under the API's names. */

/** Holidays and non-working days of a year, ascending. A day that is both is a holiday: that one everybody keeps. */
export function listedDays(
  year: number,
  { holidays }: CalendarData,
  nonWorking: ReadonlyMap<DayNumber, NonWorkingDay>,
  holidayOn: HolidayOn,
): HolidayAnswer[] {
  const ambito = 'nacional' as const;
  const kept = [...holidaysIn(year, holidays)].map(([day, { name, law }]): HolidayAnswer => {
    return { fecha: toDate(day), nombre: name, norma: law, tipo: 'feriado', ambito, habil_tributario: false };
  });
  const decreed = [...nonWorking]
    .filter(([day, { date }]) => yearOf(date) === year && holidayOn(day) === undefined)
    .map(([day, { date, name, decree }]): HolidayAnswer => {
      const habil_tributario = isTaxBusinessDay(day, holidayOn);
      return { fecha: date, nombre: name, norma: decree, tipo: 'no_laborable', ambito, habil_tributario };
    });
  return [...kept, ...decreed].sort((one, other) => (one.fecha < other.fecha ? -1 : 1));
}

export function shownDay(date: string, sector: Sector, reasonOf: ReasonOf): BusinessDayAnswer {
  const day = toDayNumber(date);
  const motivo = reasonOf(day, sector);
  return { fecha: date, habil: motivo === null, motivo, dia_semana: weekdayOf(day) };
}

export function shownPeriod({ period, state, dates }: ScheduledPeriod): ScheduleAnswer['periodos'][number] {
  const byDigit = Object.fromEntries(digits.map((digit) => [digit, dates[groupOf(digit, false)]]));
  const vencimientos = { ...byDigit, buenos_contribuyentes: dates.good_taxpayers };
  return { periodo: period, estado: state, vencimientos } as ScheduleAnswer['periodos'][number];
}

export function shownDueDate({ period, due, state }: DueDate, from: string): UpcomingDueDate {
  return { periodo: period, vence: due, estado: state, dias_restantes: toDayNumber(due) - toDayNumber(from) };
}
