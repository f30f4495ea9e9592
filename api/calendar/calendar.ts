import {
  type BusinessDayAnswer,
  type CalendarMeta,
  type DeadlineAnswer,
  type Digit,
  digits,
  type HolidayAnswer,
  type ScheduleAnswer,
  type ScheduleMeta,
  type Sector,
  type UpcomingDueDate,
  type UpcomingSummary,
  type YearRange,
} from '../../schemas/http/calendar.ts';
import { type DayNumber, isWithin, toDate, toDayNumber, weekdayOf, yearOf } from './days.ts';
import { groupOf } from './due-dates.ts';
import {
  completeDays,
  countDays,
  type HolidayOn,
  holidaysIn,
  holidayYears,
  isTaxBusinessDay,
  makeHolidayOn,
  makeReasonOf,
  type NonWorkingDay,
  nonWorkingDays,
  type ReasonOf,
} from './holidays.ts';
import { makeSchedule, type Schedule, type ScheduledPeriod } from './schedule.ts';
import type { Answered, CalendarData, DueDate } from './types.ts';

const days = {
  origen: 'El Peruano - Feriados nacionales y días no laborables',
  atribucion:
    'Feriados: D. Leg. 713 y sus leyes modificatorias. Días no laborables del sector público: decretos supremos ' +
    'publicados en el diario oficial El Peruano. Solo días de alcance nacional.',
};
const schedule = {
  origen: 'SUNAT - Cronograma de obligaciones mensuales',
  atribucion:
    'Cronograma de vencimientos de las obligaciones mensuales de SUNAT, Resolución de Superintendencia ' +
    'N.° 000281-2022/SUNAT, Anexo I.',
  prorrogas:
    'Un decreto de emergencia o una resolución de SUNAT puede prorrogar estas fechas para algunos contribuyentes ' +
    '(por domicilio fiscal o por ingresos). Esas prórrogas no están incluidas.',
};

function makeMetas({ decrees, updatedAt }: CalendarData) {
  const complete = completeDays(decrees);
  const no_laborables = { ...complete, actualizado_en: updatedAt.decrees };
  return {
    /** @param touched first and last day for which a decree can change the answer; null when no decree can change it */
    ofDays: (cubre: YearRange, touched: { first: string; last: string } | null): CalendarMeta => ({
      ...days,
      cubre,
      no_laborables,
      provisional: touched !== null && (touched.first < complete.desde || touched.last > complete.hasta),
      actualizado_en: updatedAt.decrees,
    }),
    // Decrees of non-working days are for the public sector and move no due date. So the schedule is not provisional,
    // even for years whose decrees are not loaded. Emergency decrees do postpone due dates of some taxpayers, but the
    // schedule never includes that, as its field `prorrogas` says.
    ofSchedule: (cubre: YearRange): ScheduleMeta => ({
      ...schedule,
      cubre,
      no_laborables,
      provisional: false,
      actualizado_en: updatedAt.tables,
    }),
  };
}

export interface DueDatesQuestion {
  digit: Digit;
  goodTaxpayer: boolean;
  /** First day of the answer. Earlier due dates are left out. */
  from: string;
  /**
   * Today's date in Lima. Answers cover the years up to next year, and later years as long as each year in turn has a
   * published table.
   */
  today: string;
}

/** The methods return `data`, `resumen` and `meta` as the API sends them. Callers check days with `isDay` first. */
export interface Calendar {
  holidaysOf(year: number): Answered<{ data: HolidayAnswer[]; meta: CalendarMeta }>;
  dayOf(date: string, sector: Sector): Answered<{ data: BusinessDayAnswer; meta: CalendarMeta }>;
  /** @param days 1 to 1,000 */
  deadline(from: string, days: number, sector: Sector): Answered<{ data: DeadlineAnswer; meta: CalendarMeta }>;
  dueDates(year: number, today: string): Answered<{ data: ScheduleAnswer; meta: ScheduleMeta }>;
  upcoming(
    question: DueDatesQuestion,
    limit: number,
  ): Answered<{ resumen: UpcomingSummary; data: UpcomingDueDate[]; meta: ScheduleMeta }>;
  /**
   * Returns the due dates on or after the day `question.from`, ascending. The last one is that of the tax period
   * December of the last covered year, which is due in January of the next year.
   */
  dueDatesFrom(question: DueDatesQuestion): Answered<{ dueDates: DueDate[]; meta: ScheduleMeta }>;
}

/** Makes a calendar that does no I/O. The calendar keeps the years that it has computed, so new data need a new one. */
export function makeCalendar(data: CalendarData): Calendar {
  const holidayOn = makeHolidayOn(data.holidays);
  const metas = makeMetas(data);
  return {
    ...dayFunctions(data, holidayOn, metas),
    ...dueDateFunctions(makeSchedule(data.tables, holidayOn), metas),
  };
}

function dayFunctions(
  data: CalendarData,
  holidayOn: HolidayOn,
  metas: ReturnType<typeof makeMetas>,
): Pick<Calendar, 'holidaysOf' | 'dayOf' | 'deadline'> {
  const nonWorking = nonWorkingDays(data.decrees);
  const reasonOf = makeReasonOf(holidayOn, nonWorking);
  const touched = (sector: Sector, first: string, last: string) => (sector === 'publico' ? { first, last } : null);
  return {
    holidaysOf(year) {
      if (!isWithin(year, holidayYears)) return { ok: false, covers: holidayYears };
      // The list also shows the public sector's non-working days, so it depends on the decrees of the whole year.
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
      if (!isWithin(yearOf(counted.vence), holidayYears)) return { ok: false, covers: holidayYears };
      // `desde` is not counted, so no decree about that day can change the answer.
      const meta = metas.ofDays(holidayYears, touched(sector, toDate(toDayNumber(from) + 1), counted.vence));
      return { ok: true, data: { desde: from, dias: days, sector, ...counted }, meta };
    },
  };
}

function dueDateFunctions(
  schedule: Schedule,
  metas: ReturnType<typeof makeMetas>,
): Pick<Calendar, 'dueDates' | 'upcoming' | 'dueDatesFrom'> {
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

/**
 * Returns a year's holidays and non-working days, ascending. A day that is both is listed as a holiday: a holiday is
 * for everybody, a non-working day only for the public sector.
 */
function listedDays(
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

function shownDay(date: string, sector: Sector, reasonOf: ReasonOf): BusinessDayAnswer {
  const day = toDayNumber(date);
  const motivo = reasonOf(day, sector);
  return { fecha: date, habil: motivo === null, motivo, dia_semana: weekdayOf(day) };
}

function shownPeriod({ period, state, dates }: ScheduledPeriod): ScheduleAnswer['periodos'][number] {
  const byDigit = Object.fromEntries(digits.map((digit) => [digit, dates[groupOf(digit, false)]]));
  const vencimientos = { ...byDigit, buenos_contribuyentes: dates.good_taxpayers };
  return { periodo: period, estado: state, vencimientos } as ScheduleAnswer['periodos'][number];
}

function shownDueDate({ period, due, state }: DueDate, from: string): UpcomingDueDate {
  return { periodo: period, vence: due, estado: state, dias_restantes: toDayNumber(due) - toDayNumber(from) };
}
