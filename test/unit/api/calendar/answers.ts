import { type Calendar, makeCalendar } from '../../../../api/calendar/calendar.ts';
import { shippedCalendar } from '../../../../api/calendar/data/shipped.ts';
import type { Answered } from '../../../../api/calendar/types.ts';

/** Today in the tests, in Lima. */
export const today = '2026-11-27';

export const calendar: Calendar = makeCalendar(shippedCalendar);

/** Returns the answer, or fails the test when the year is not covered. */
export function answered<Answer>(outcome: Answered<Answer>): Omit<{ ok: true } & Answer, 'ok'> {
  if (!outcome.ok) throw new Error(`not covered: ${JSON.stringify(outcome.covers)}`);
  const { ok: _, ...answer } = outcome;
  return answer;
}
