import type { Digit } from '../../schemas/http/calendar.ts';
import { type DayNumber, dayNumberOf, toDate } from './days.ts';
import { type HolidayOn, isTaxBusinessDay } from './holidays.ts';
import { type DueDateGroup, type DueDatesByGroup, dueDateGroups, type PublishedTable } from './types.ts';

/** The rule for due dates, R.S. 000281-2022/SUNAT, applies from the period of January 2023 on. */
export const firstYearOfRule = 2023;
export const ruleSource = 'R.S. 000281-2022/SUNAT, Anexo I';

/**
 * The first group of `dueDateGroups` is due on the 11th business day of the month after the period. Each next group is
 * due one business day later (Anexo I).
 */
const firstOrdinal = 11;

export function groupOf(digit: Digit, goodTaxpayer: boolean): DueDateGroup {
  if (goodTaxpayer) return 'good_taxpayers';
  return dueDateGroups.find((group) => group.split('-').includes(digit))!;
}

/** Returns the twelve periods of a year as YYYY-MM. */
export function periodsOf(year: number): string[] {
  return Array.from({ length: 12 }, (_, month) => `${year}-${String(month + 1).padStart(2, '0')}`);
}

/** Returns the first day of the month in which a period is due, and the first day of the month after that. */
export function dueMonthOf(period: string): { first: DayNumber; next: DayNumber } {
  const year = Number(period.slice(0, 4));
  const month = Number(period.slice(5));
  // dayNumberOf (by Date.UTC) takes month 13 or 14 as January or February of the next year.
  return { first: dayNumberOf(year, month + 1, 1), next: dayNumberOf(year, month + 2, 1) };
}

/** Returns the due dates of each period of a year by the rule of R.S. 000281-2022/SUNAT. */
export function ruleDueDates(year: number, holidayOn: HolidayOn): PublishedTable['periods'] {
  return Object.fromEntries(periodsOf(year).map((period) => [period, ruleDueDatesOf(period, holidayOn)]));
}

function ruleDueDatesOf(period: string, holidayOn: HolidayOn): DueDatesByGroup {
  const { first, next } = dueMonthOf(period);
  const businessDays: DayNumber[] = [];
  for (let day = first; day < next; day += 1) if (isTaxBusinessDay(day, holidayOn)) businessDays.push(day);
  const dates = dueDateGroups.map((group, index) => [group, toDate(businessDays[firstOrdinal - 1 + index]!)]);
  return Object.fromEntries(dates) as DueDatesByGroup;
}
