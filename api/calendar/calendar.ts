import type {
  BusinessDayAnswer,
  CalendarMeta,
  DeadlineAnswer,
  HolidayAnswer,
  ScheduleAnswer,
  ScheduleMeta,
  Sector,
  UpcomingDueDate,
  UpcomingSummary,
  YearRange,
} from '../../schemas/http/calendar.ts';
import type { Answered, DueDate } from './types.ts';

export interface DueDatesQuestion {
  /** Last digit of the RUC, one character. */
  digit: string;
  goodTaxpayer: boolean;
  /** First due date wanted. */
  from: string;
  /** The date in Lima: coverage ends with the year after it, or with the last published table. */
  today: string;
}

/** Every `data`, `resumen` and `meta` is ready to be sent. Days must exist (`isDay`), digits be one of 0–9. */
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
