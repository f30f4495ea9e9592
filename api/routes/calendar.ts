import { dayQuery, deadlineQuery, upcomingQuery } from '../../schemas/http/calendar.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { answerForAMinute } from '../answers.ts';
import type { CurrentCalendar } from '../calendar/store.ts';
import { type ApiContext, type ApiRouter, parseInput, refuseQuery } from '../request.ts';
import { type CalendarParts, readerAccess } from './calendar-access.ts';
import { refuseWholeRuc, requireCovered, requireDay, requireDigit, requireYear } from './calendar-input.ts';

export const daysPath = '/id/v1/calendario';
export const dueDatesPath = '/id/v1/vencimientos';

/** GET and HEAD of holidays, business days, deadlines and due dates. No engine is asked for any of them. */
export function registerCalendarRoutes(router: ApiRouter, parts: CalendarParts): void {
  registerDays(router, parts);
  registerDueDates(router, parts);
}

// Fixed paths come before those with a parameter: the router takes the first that fits.
function registerDays(router: ApiRouter, parts: CalendarParts): void {
  const mayRead = readerAccess(parts);

  router.get(`${daysPath}/feriados/:anio`, mayRead, (context) => {
    refuseQuery(context);
    const { current, today } = momentOf(parts);
    const { data, meta } = requireCovered(current.calendar.holidaysOf(requireYear(context.params.anio ?? '')));
    answer(context, current, today, { data, meta });
  });

  router.get(`${daysPath}/plazo`, mayRead, (context) => {
    const { desde, dias, sector } = parseInput(deadlineQuery, context.query);
    const { current, today } = momentOf(parts);
    const { data, meta } = requireCovered(current.calendar.deadline(requireDay(desde, 'desde'), dias, sector));
    answer(context, current, today, { data, meta });
  });

  router.get(`${daysPath}/:fecha`, mayRead, (context) => {
    const { sector } = parseInput(dayQuery, context.query);
    const { current, today } = momentOf(parts);
    const { data, meta } = requireCovered(
      current.calendar.dayOf(requireDay(context.params.fecha ?? '', 'fecha'), sector),
    );
    answer(context, current, today, { data, meta });
  });
}

function registerDueDates(router: ApiRouter, parts: CalendarParts): void {
  const mayRead = readerAccess(parts);

  router.get(`${dueDatesPath}/proximos`, mayRead, (context) => {
    refuseWholeRuc(context.query.digito);
    const { digito, buen_contribuyente, desde, limite } = parseInput(upcomingQuery, context.query);
    const digit = requireDigit(digito);
    const { current, today } = momentOf(parts);
    const from = desde === undefined ? today : requireDay(desde, 'desde');
    const question = { digit, goodTaxpayer: buen_contribuyente, from, today };
    const { resumen, data, meta } = requireCovered(current.calendar.upcoming(question, limite));
    answer(context, current, today, { resumen, data, meta });
  });

  router.get(`${dueDatesPath}/:anio`, mayRead, (context) => {
    refuseQuery(context);
    const { current, today } = momentOf(parts);
    const { data, meta } = requireCovered(current.calendar.dueDates(requireYear(context.params.anio ?? ''), today));
    answer(context, current, today, { data, meta });
  });
}

/** One calendar and one date for the whole answer: midnight in Lima, or a new decree, never falls between two of its parts. */
export function momentOf({ calendar, now }: CalendarParts): { current: CurrentCalendar; today: string } {
  return { current: calendar(), today: limaDay(now()) };
}

function answer(context: ApiContext, current: CurrentCalendar, today: string, body: Record<string, unknown>): void {
  const text = JSON.stringify({ success: true, ...body });
  answerForAMinute(context, `${current.version}-${today}`, 'application/json', text);
}
