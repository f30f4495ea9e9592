import { shippedCalendar } from '../../../api/calendar/data/shipped.ts';
import { ruleDueDates } from '../../../api/calendar/due-dates.ts';
import { makeHolidayOn } from '../../../api/calendar/holidays.ts';
import type { DueDatesByGroup, PublishedTable } from '../../../api/calendar/types.ts';

/** A table for 2027 that equals the rule except for some dates of March. */
export function tableOf2027(march: Partial<DueDatesByGroup> = {}): PublishedTable {
  const rule = ruleDueDates(2027, makeHolidayOn(shippedCalendar.holidays));
  const periods = { ...rule, '2027-03': { ...rule['2027-03']!, ...march } };
  return { year: 2027, source: 'Cronograma de prueba 2027', periods };
}
