import { upcomingQuery } from '../../schemas/http/calendar.ts';
import { answerForAMinute } from '../answers.ts';
import { dueDatesFeed, holidaysFeed } from '../calendar/feeds.ts';
import { makeKeptTexts } from '../calendar/store.ts';
import { type ApiRouter, parseInput } from '../request.ts';
import { daysPath, dueDatesPath, momentOf } from './calendar.ts';
import { type CalendarParts, feedAccess } from './calendar-access.ts';
import { refuseWholeRuc, requireCovered, requireDigit } from './calendar-input.ts';

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
