import type { Pool } from '../../deploy/runtime/postgres.ts';
import { type EventFilter, pageEvents, type StoredEvent } from '../../pipelines/watch/history.ts';
import { type EventPayload, type EventsQuery, eventsQuery } from '../../schemas/http/events.ts';
import { limaDay, startOfLimaDay } from '../../schemas/lima-time.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerPrivately } from '../answers.ts';
import type { Catalogue } from '../catalogue.ts';
import { readCursor, writeCursor } from '../cursors.ts';
import { type ApiRouter, access, callerOf, parseInput } from '../request.ts';
import { registerMetaOf } from './watch-meta.ts';

export interface EventParts {
  identify: Identify;
  catalogue: Catalogue;
  pool: Pool;
}

/** GET /id/v1/watch/eventos: the account's events, oldest first, with a cursor that skips and repeats none. */
export function registerEventRoutes(router: ApiRouter, { identify, catalogue, pool }: EventParts): void {
  router.get('/id/v1/watch/eventos', access(identify, 'crecimiento'), async (context) => {
    const query = parseInput(eventsQuery, context.query);
    const after = Number(readCursor('eventos', query.cursor, '0'));
    const meta = await registerMetaOf(catalogue);
    const events = await pageEvents(pool, callerOf(context).accountId, filterOf(query, after), query.limite + 1);
    const page = events.slice(0, query.limite);
    answerPrivately(context, 200, page.map(shownEvent), {
      // After an empty page the caller goes on from where it was: what comes later has a higher position.
      cursor: writeCursor('eventos', page.at(-1)?.position ?? after),
      hay_mas: events.length > query.limite,
      ...meta,
    });
  });
}

function filterOf({ desde, hasta, ruc, evento, lista }: EventsQuery, after: number): EventFilter {
  return {
    after,
    ruc,
    evento,
    list: lista,
    ...(desde === undefined ? {} : from(desde)),
    ...(hasta === undefined ? {} : to(hasta)),
  };
}

// A day means the whole day in Lima; an event's partition is its day in Lima.
function from(moment: string): Pick<EventFilter, 'fromDay' | 'from'> {
  if (isDay(moment)) return { fromDay: moment, from: startOfLimaDay(moment) };
  return { fromDay: limaDay(new Date(moment)), from: new Date(moment) };
}

function to(moment: string): Pick<EventFilter, 'toDay' | 'to'> {
  if (isDay(moment)) return { toDay: moment };
  return { toDay: limaDay(new Date(moment)), to: new Date(moment) };
}

function isDay(moment: string): boolean {
  return moment.length === 10;
}

function shownEvent({ payload, deliveries }: StoredEvent) {
  return { ...(JSON.parse(payload) as EventPayload), entregas: deliveries };
}
