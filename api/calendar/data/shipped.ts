import type { CalendarData } from '../types.ts';
import { decrees } from './decrees.ts';
import { holidays } from './holidays.ts';
import { tables } from './tables.ts';

/** What a release carries; what operators load comes after it. Whoever changes a list here changes its moment too. */
export const shippedCalendar: CalendarData = {
  holidays,
  decrees,
  tables,
  updatedAt: { decrees: '2026-11-27T00:00:00-05:00', tables: '2026-11-27T00:00:00-05:00' },
};
