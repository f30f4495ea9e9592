import { dayQuery, deadlineQuery, upcomingQuery } from '../../schemas/http/calendar.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import type { IdentifyReader } from '../accounts/callers.ts';
import { answerForAMinute } from '../answers.ts';
import { dueDatesFeed, holidaysFeed } from '../calendar/feeds.ts';
import { type CurrentCalendar, makeKeptTexts } from '../calendar/store.ts';
import { accountSubject, addressSubject } from '../metering/minute-limits.ts';
import { ApiProblem } from '../problems.ts';
import { type ApiContext, type ApiMiddleware, type ApiRouter, parseInput, refuseQuery } from '../request.ts';
import { refuseWholeRuc, requireCovered, requireDay, requireDigit, requireYear } from './calendar-input.ts';

const daysPath = '/id/v1/calendario';
const dueDatesPath = '/id/v1/vencimientos';

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
function momentOf({ calendar, now }: CalendarParts): { current: CurrentCalendar; today: string } {
  return { current: calendar(), today: limaDay(now()) };
}

function answer(context: ApiContext, current: CurrentCalendar, today: string, body: Record<string, unknown>): void {
  const text = JSON.stringify({ success: true, ...body });
  answerForAMinute(context, `${current.version}-${today}`, 'application/json', text);
}

export interface CalendarParts {
  identifyReader: IdentifyReader;
  /** Asked once per answer, so that data and version are of one moment. */
  calendar: () => CurrentCalendar;
  sandboxToken: string;
  now: () => Date;
}

/** The calendar is in every plan and costs nothing: a token is asked for, and no more. */
function readerAccess({ identifyReader }: Pick<CalendarParts, 'identifyReader'>): ApiMiddleware {
  return async (context, next) => {
    await identify(context, identifyReader);
    return next();
  };
}

/**
 * Calendar programs cannot send headers, so a feed takes the sandbox token, which is public, in its address. Another token
 * there would stand in histories and logs of others: it is refused, and its text is repeated nowhere.
 */
function feedAccess({ identifyReader, sandboxToken }: CalendarParts): ApiMiddleware {
  return async (context, next) => {
    const { token } = context.query;
    if (token === undefined) await identify(context, identifyReader);
    else if (token !== sandboxToken)
      throw new ApiProblem(
        'parametro_invalido',
        'token: en la dirección se admite solo el token de pruebas; un token propio va en la cabecera Authorization.',
        { errors: [{ campo: 'token', mensaje: 'solo se admite el token de pruebas' }] },
      );
    else await context.state.countRequest(addressSubject(context.ip));
    return next();
  };
}

async function identify(context: ApiContext, identifyReader: IdentifyReader): Promise<void> {
  const caller = await identifyReader(context.req.headers.authorization);
  if (caller !== null) context.state.caller = caller;
  await context.state.countRequest(caller === null ? addressSubject(context.ip) : accountSubject(caller));
}

const feedType = 'text/calendar; charset=utf-8';
const feedQuery = upcomingQuery.pick({ buen_contribuyente: true });

/**
 * GET and HEAD of the two feeds: from 1 January of this year on. Unknown parameters pass, since calendar programs add their
 * own. To be registered before the routes with parameters, which these paths fit too.
 */
export function registerCalendarFeeds(router: ApiRouter, parts: CalendarParts): void {
  const mayRead = feedAccess(parts);
  const kept = makeKeptTexts();

  router.get(`${daysPath}/feriados.ics`, mayRead, (context) => {
    const { current, today } = momentOf(parts);
    const moment = `${current.version}-${today}`;
    const feed = kept(moment, 'holidays', () => {
      const thisYear = Number(today.slice(0, 4));
      const days = [thisYear, thisYear + 1].flatMap((year) => requireCovered(current.calendar.holidaysOf(year)).data);
      return holidaysFeed(days, current.updatedAt.decrees);
    });
    answerForAMinute(context, moment, feedType, feed);
  });

  router.get(`${dueDatesPath}.ics`, mayRead, (context) => {
    refuseWholeRuc(context.query.digito);
    const digit = requireDigit(context.query.digito);
    const { buen_contribuyente } = context.query;
    const { buen_contribuyente: goodTaxpayer } = parseInput(feedQuery, { buen_contribuyente });
    const { current, today } = momentOf(parts);
    const moment = `${current.version}-${today}`;
    const feed = kept(moment, `${digit}-${goodTaxpayer}`, () => {
      const question = { digit, goodTaxpayer, from: `${today.slice(0, 4)}-01-01`, today };
      const { dueDates, meta } = requireCovered(current.calendar.dueDatesFrom(question));
      const { prorrogas } = meta;
      return dueDatesFeed({ digit, goodTaxpayer, dueDates, prorrogas, updatedAt: current.updatedAt.tables });
    });
    answerForAMinute(context, moment, feedType, feed);
  });
}
