import { LRUCache } from 'lru-cache';
import { digits } from '../../schemas/http/calendar.ts';
import { limaDay, startOfLimaDay } from '../../schemas/lima-time.ts';
import { forAMinute, sendCached, type Validators } from '../answers.ts';
import { dueDatesFeed, holidaysFeed } from '../calendar/feeds.ts';
import type { CurrentCalendar } from '../calendar/store.ts';
import type { Answered } from '../calendar/types.ts';
import { requireDay, requireDigit, requireYear } from '../checks.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiProblem } from '../problems.ts';
import type { Handlers } from '../router.ts';

const feedType = 'text/calendar; charset=utf-8';
/**
 * Number of feeds kept in memory: one of the holidays, and two of due dates (for good taxpayers and for all others) for
 * each last digit of a RUC. A feed takes some milliseconds to write, and then serves all its subscribers for the day.
 */
const maxFeeds = 1 + 2 * digits.length;

/** Handlers for holidays, business days, deadlines and due dates. None of them asks a database. */
export function makeCalendarHandlers(dependencies: Pick<ApiDependencies, 'calendar' | 'now'>) {
  const feeds = new LRUCache<string, string, () => string>({
    max: maxFeeds,
    memoMethod: (_key, _last, { context: write }) => write(),
  });
  const answer = <Body extends object>(ask: (moment: Moment) => Answered<Body>) => {
    const moment = momentOf(dependencies);
    return { ...requireCovered(ask(moment)), ...moment.validators };
  };
  return {
    verFeriados: ({ params }) => answer(({ calendar }) => calendar.holidaysOf(requireYear(params.anio))),

    calcularPlazo: ({ query: { desde, dias, sector } }) =>
      answer(({ calendar }) => calendar.deadline(requireDay(desde, 'desde'), dias, sector)),

    verDia: ({ params, query: { sector } }) =>
      answer(({ calendar }) => calendar.dayOf(requireDay(params.fecha, 'fecha'), sector)),

    verProximosVencimientos({ query: { digito, buen_contribuyente: goodTaxpayer, desde, limite } }) {
      const digit = requireDigit(digito);
      return answer(({ calendar, today }) => {
        const from = desde === undefined ? today : requireDay(desde, 'desde');
        return calendar.upcoming({ digit, goodTaxpayer, from, today }, limite);
      });
    },

    verVencimientos: ({ params }) =>
      answer(({ calendar, today }) => calendar.dueDates(requireYear(params.anio), today)),

    suscribirFeriados(_, context) {
      const { calendar, today, validators, updatedAt } = momentOf(dependencies);
      const write = () => {
        const thisYear = Number(today.slice(0, 4));
        const days = [thisYear, thisYear + 1].flatMap((year) => requireCovered(calendar.holidaysOf(year)).data);
        return holidaysFeed(days, updatedAt.decrees);
      };
      const feed = feeds.memo(`holidays-${validators.tag}`, { context: write });
      sendCached(context, forAMinute, validators, feedType, feed);
    },

    suscribirVencimientos({ query: { digito, buen_contribuyente: goodTaxpayer } }, context) {
      const digit = requireDigit(digito);
      const { calendar, today, validators, updatedAt } = momentOf(dependencies);
      const write = () => {
        const question = { digit, goodTaxpayer, from: `${today.slice(0, 4)}-01-01`, today };
        const { dueDates, meta } = requireCovered(calendar.dueDatesFrom(question));
        return dueDatesFeed({ digit, goodTaxpayer, dueDates, prorrogas: meta.prorrogas, updatedAt: updatedAt.tables });
      };
      const feed = feeds.memo(`${digit}-${goodTaxpayer}-${validators.tag}`, { context: write });
      sendCached(context, forAMinute, validators, feedType, feed);
    },
  } satisfies Partial<Handlers>;
}

interface Moment extends CurrentCalendar {
  today: string;
  validators: Validators;
}

/**
 * Reads the calendar and the date once per answer. Otherwise the parts of an answer could disagree when midnight in
 * Lima passes or a new decree is loaded.
 */
function momentOf({ calendar, now }: Pick<ApiDependencies, 'calendar' | 'now'>): Moment {
  const current = calendar();
  const today = limaDay(now());
  const modifiedAt = new Date(Math.max(startOfLimaDay(today).getTime(), current.servedSince.getTime()));
  return { ...current, today, validators: { tag: `${current.version}-${today}`, modifiedAt } };
}

/** @throws ApiProblem anio_no_disponible, which names the covered years */
function requireCovered<Answer>(answer: Answered<Answer>): { ok: true } & Answer {
  if (answer.ok) return answer;
  const { covers: cubre } = answer;
  const detail = `Esta operación cubre los años ${cubre.desde} a ${cubre.hasta}.`;
  throw new ApiProblem('anio_no_disponible', detail, { meta: { cubre } });
}
