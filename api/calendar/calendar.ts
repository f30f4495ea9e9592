import type {
  BusinessDayAnswer,
  CalendarMeta,
  DeadlineAnswer,
  Digit,
  HolidayAnswer,
  ScheduleAnswer,
  ScheduleMeta,
  Sector,
  UpcomingDueDate,
  UpcomingSummary,
  YearRange,
} from '../../schemas/http/calendar.ts';
import { listedDays, shownDay, shownDueDate, shownPeriod } from './answers.ts';
import { countDays, makeReasonOf } from './business-days.ts';
import { toDate, toDayNumber, yearOf } from './days.ts';
import { groupOf } from './due-dates.ts';
import { type HolidayOn, holidayYears, makeHolidayOn } from './holidays.ts';
import { type Metas, makeMetas } from './meta.ts';
import { nonWorkingDays } from './non-working-days.ts';
import { makeSchedule, type Schedule } from './schedule.ts';
import type { Answered, CalendarData, DueDate } from './types.ts';

export interface DueDatesQuestion {
  digit: Digit;
  goodTaxpayer: boolean;
  /** First due date wanted. */
  from: string;
  /** The date in Lima: coverage ends with the year after it, or with the last published table. */
  today: string;
}

/** Every `data`, `resumen` and `meta` is ready to be sent. Days must exist (`isDay` of days.ts). */
export interface Calendar {
  holidaysOf(year: number): Answered<{ data: HolidayAnswer[]; meta: CalendarMeta }>;
  dayOf(date: string, sector: Sector): Answered<{ data: BusinessDayAnswer; meta: CalendarMeta }>;
  /** `days`: 1 to 1,000. */
  deadline(from: string, days: number, sector: Sector): Answered<{ data: DeadlineAnswer; meta: CalendarMeta }>;
  dueDates(year: number, today: string): Answered<{ data: ScheduleAnswer; meta: ScheduleMeta }>;
  upcoming(
    question: DueDatesQuestion,
    limit: number,
  ): Answered<{ resumen: UpcomingSummary; data: UpcomingDueDate[]; meta: ScheduleMeta }>;
  /** All due dates from a day to the end of coverage, ascending: what a feed lists. */
  dueDatesFrom(question: DueDatesQuestion): Answered<{ dueDates: DueDate[]; meta: ScheduleMeta }>;
  /** The years that each group of routes answers. */
  coverage(today: string): { days: YearRange; dueDates: YearRange };
}

type DayFunctions = Pick<Calendar, 'holidaysOf' | 'dayOf' | 'deadline'>;
type DueDateFunctions = Pick<Calendar, 'dueDates' | 'upcoming' | 'dueDatesFrom'>;

/** Pure: the same data give the same answers. What is computed of a year is kept, so a new calendar is made for new data. */
export function makeCalendar(data: CalendarData): Calendar {
  const holidayOn = makeHolidayOn(data.holidays);
  const schedule = makeSchedule(data.tables, holidayOn);
  const metas = makeMetas(data);
  return {
    ...dayFunctions(data, holidayOn, metas),
    ...dueDateFunctions(schedule, metas),
    coverage: (today) => ({ days: holidayYears, dueDates: schedule.covered(today) }),
  };
}

function dayFunctions(data: CalendarData, holidayOn: HolidayOn, metas: Metas): DayFunctions {
  const nonWorking = nonWorkingDays(data.decrees);
  const reasonOf = makeReasonOf(holidayOn, nonWorking);
  const touched = (sector: Sector, first: string, last: string) => (sector === 'publico' ? { first, last } : null);
  return {
    holidaysOf(year) {
      if (!isWithin(year, holidayYears)) return { ok: false, covers: holidayYears };
      // The list shows the public sector's days too, so it depends on the decrees of the whole year.
      const meta = metas.ofDays(holidayYears, { first: `${year}-01-01`, last: `${year}-12-31` });
      return { ok: true, data: listedDays(year, data, nonWorking, holidayOn), meta };
    },
    dayOf(date, sector) {
      if (!isWithin(yearOf(date), holidayYears)) return { ok: false, covers: holidayYears };
      const meta = metas.ofDays(holidayYears, touched(sector, date, date));
      return { ok: true, data: shownDay(date, sector, reasonOf), meta };
    },
    deadline(from, days, sector) {
      if (!isWithin(yearOf(from), holidayYears)) return { ok: false, covers: holidayYears };
      const counted = countDays(toDayNumber(from), days, sector, reasonOf);
      const vence = toDate(counted.due);
      if (!isWithin(yearOf(vence), holidayYears)) return { ok: false, covers: holidayYears };
      const saltados = counted.skipped.map(({ day, reason }) => ({ fecha: toDate(day), motivo: reason }));
      // `desde` itself is not counted: no decree about it can change the answer.
      const meta = metas.ofDays(holidayYears, touched(sector, toDate(toDayNumber(from) + 1), vence));
      return { ok: true, data: { desde: from, dias: days, sector, vence, saltados }, meta };
    },
  };
}

function dueDateFunctions(schedule: Schedule, metas: Metas): DueDateFunctions {
  const dueDatesFrom: Calendar['dueDatesFrom'] = ({ digit, goodTaxpayer, from, today }) => {
    const covers = schedule.covered(today);
    if (!isWithin(yearOf(from), covers)) return { ok: false, covers };
    const dueDates = schedule.from(from, groupOf(digit, goodTaxpayer), today);
    return { ok: true, dueDates, meta: metas.ofSchedule(covers) };
  };
  return {
    dueDatesFrom,
    dueDates(year, today) {
      const covers = schedule.covered(today);
      if (!isWithin(year, covers)) return { ok: false, covers };
      const periodos = schedule.yearOf(year).map(shownPeriod);
      return { ok: true, data: { anio: year, periodos }, meta: metas.ofSchedule(covers) };
    },
    upcoming(question, limit) {
      const found = dueDatesFrom(question);
      if (!found.ok) return found;
      const { digit, goodTaxpayer, from } = question;
      const resumen = { digito: digit, buen_contribuyente: goodTaxpayer, desde: from };
      const data = found.dueDates.slice(0, limit).map((dueDate) => shownDueDate(dueDate, from));
      return { ok: true, resumen, data, meta: found.meta };
    },
  };
}

function isWithin(year: number, { desde, hasta }: YearRange): boolean {
  return year >= desde && year <= hasta;
}
