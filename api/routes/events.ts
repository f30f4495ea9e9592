import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { lastPosition, pageEvents, type StoredEvent } from '../../pipelines/watch/history.ts';
import { oldestCursor } from '../../pipelines/webhooks/retention.ts';
import { type EventPayload, eventsQuery } from '../../schemas/http/events.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerPrivately } from '../answers.ts';
import type { Catalogue } from '../catalogue.ts';
import { notOfThisList, readCursor, writeCursor } from '../input.ts';
import { type ApiRouter, callerOf, parseInput } from '../request.ts';
import { filterOf, requireKept } from './event-filter.ts';
import { mayReadWatch } from './watch-access.ts';
import { registerMetaOf } from './watch-meta.ts';

export interface EventParts {
  identify: Identify;
  catalogue: Catalogue;
  pool: Pool;
}

export const eventsPath = '/id/v1/watch/eventos';

/** GET /id/v1/watch/eventos: the account's events, oldest first, with a cursor that skips and repeats none. */
export function registerEventRoutes(router: ApiRouter, { identify, catalogue, pool }: EventParts): void {
  router.get(eventsPath, mayReadWatch(identify, pool), async (context) => {
    const query = parseInput(eventsQuery, context.query);
    const { accountId } = callerOf(context);
    const last = await lastPosition(pool, accountId);
    // Without a cursor a reader starts with the oldest event that is kept: what went before is nothing that it missed.
    const after = query.cursor === undefined ? await oldestCursor(pool, accountId) : placeOf(query.cursor, last);
    const meta = await registerMetaOf(catalogue);
    // Whoever asks often whether there is news mostly learns it here: looking through the days of 13 months takes far longer.
    const events =
      after >= last ? [] : await pageEvents(pool, accountId, { ...filterOf(query), after }, query.limite + 1);
    if (query.cursor !== undefined) await requireKept(pool, accountId, after);
    const page = events.slice(0, query.limite);
    answerPrivately(context, 200, page.map(shownEvent), {
      // After an empty page the caller goes on from where it was: what comes later has a higher position.
      cursor: writeCursor('eventos', page.at(-1)?.position ?? after),
      hay_mas: events.length > query.limite,
      ...meta,
    });
  });
}

/**
 * @throws ApiProblem parametro_invalido for another account's cursor too, where it is further than this one has come: going on
 * from there would pass over events in silence
 */
function placeOf(cursor: string, last: number): number {
  const after = Number(readCursor('eventos', cursor, ''));
  if (after > last) throw notOfThisList();
  return after;
}

function shownEvent({ payload, deliveries }: StoredEvent) {
  return { ...(JSON.parse(payload) as EventPayload), entregas: deliveries };
}
