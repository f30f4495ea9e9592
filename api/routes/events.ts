import { Readable } from 'node:stream';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { type EventFilter, lastPosition, pageEvents, pagePayloads } from '../../pipelines/watch/history.ts';
import { oldestCursor } from '../../pipelines/webhooks/retention.ts';
import { type EventPayload, type EventsQuery, streamHeaders } from '../../schemas/http/events.ts';
import { registerMeta } from '../catalogue.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { feed } from '../event-stream/feed.ts';
import { dayOf, instantAfter, instantFrom, notOfThisList, readCursor, writeCursor } from '../input.ts';
import { ApiProblem, fieldProblem } from '../problems.ts';
import { type ApiContext, callerOf, parseInput } from '../request.ts';
import type { Handlers } from '../router.ts';

/** The account's events, oldest first: as pages, and as a stream of Server-Sent Events. */
export function makeEventHandlers({
  catalogue,
  pool,
  streams,
}: Pick<ApiDependencies, 'catalogue' | 'pool' | 'streams'>) {
  return {
    async verEventos({ query }, context) {
      const { accountId } = callerOf(context);
      const last = await lastPosition(pool, accountId);
      // A reader without a cursor starts with the oldest stored event, and events that were removed do not count as
      // missed.
      const after = query.cursor === undefined ? await oldestCursor(pool, accountId) : placeOf(query.cursor, last);
      const meta = await registerMeta(catalogue);
      // A client that polls mostly finds nothing new. The comparison with `last` then saves a search through 13 months
      // of partitions.
      const events =
        after >= last ? [] : await pageEvents(pool, accountId, { ...filterOf(query), after }, query.limite + 1);
      if (query.cursor !== undefined) await requireKept(pool, accountId, after);
      const page = events.slice(0, query.limite);
      const hasMore = events.length > query.limite;
      const shownTo = page.at(-1)?.position ?? after;
      return {
        data: page.map(({ payload, deliveries }) => ({
          ...(JSON.parse(payload) as EventPayload),
          entregas: deliveries,
        })),
        meta: {
          cursor: writeCursor('eventos', hasMore ? shownTo : searchedTo(query, shownTo, last)),
          hay_mas: hasMore,
          ...meta,
        },
      };
    },

    async seguirEventos({ query }, context) {
      const filter = filterOf(query);
      const caller = callerOf(context);
      const { accountId } = caller;
      const newest = await lastPosition(pool, accountId);
      const start = readLastEventId(context) ?? newest;
      // Continuing from a position that the account has not reached would silently skip events.
      if (start > newest) throw fieldProblem('parametro_invalido', header, 'no es de este flujo');
      await requireKept(pool, accountId, start);
      const stream = await streams.open(caller, context.res);
      const source = {
        lastPosition: () => lastPosition(pool, accountId),
        read: (after: number, limit: number) => pagePayloads(pool, accountId, { ...filter, after }, limit),
        isKept: async (after: number) => (await oldestCursor(pool, accountId)) <= after,
      };
      context.status = 200;
      context.set({
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        // Without this header some proxies hold events back until a buffer is full.
        'X-Accel-Buffering': 'no',
      });
      context.body = Readable.from(feed(source, start, { ...stream, limits: streams.limits }));
    },
  } satisfies Partial<Handlers>;
}

/**
 * Reads the position in a cursor.
 * @throws ApiProblem parametro_invalido when the cursor is malformed, or is beyond this account's last position. Such a
 *   cursor is another account's, and using it would silently skip events.
 */
function placeOf(cursor: string, last: number): number {
  const after = Number(readCursor('eventos', cursor, ''));
  if (after > last) throw notOfThisList();
  return after;
}

/**
 * Returns the position after which a reader who has read all pages continues. All events up to the account's last
 * position were searched, so the reader continues there even if the filter let none pass. Otherwise the cursor of a
 * narrow filter would stay behind and be refused once the events after it are removed. With `hasta` the reader may ask
 * for later events next, and continues after the last event that he was shown.
 */
function searchedTo({ hasta }: EventQuery, shownTo: number, last: number): number {
  return hasta === undefined ? Math.max(shownTo, last) : shownTo;
}

type EventQuery = Pick<EventsQuery, 'desde' | 'hasta' | 'ruc' | 'evento' | 'lista'>;

/**
 * Makes the filter of the pages and of the stream. The filter has the instants and also their days in Lima. Events are
 * partitioned by these days, so a query reads only the partitions that it needs.
 */
function filterOf({ desde, hasta, ruc, evento, lista }: EventQuery): Omit<EventFilter, 'after'> {
  return {
    ruc,
    evento,
    list: lista,
    ...(desde === undefined ? {} : { fromDay: dayOf(desde), from: instantFrom(desde) }),
    ...(hasta === undefined ? {} : { toDay: dayOf(hasta), before: instantAfter(hasta) }),
  };
}

/**
 * Checks that no event after the position was removed. Call this after reading a page. Otherwise events that the
 * retention removes during the read would leave an unnoticed gap.
 * @throws ApiProblem cursor_vencido when events after the position may have been removed
 */
async function requireKept(pool: Pool, accountId: number, after: number): Promise<void> {
  const oldest = await oldestCursor(pool, accountId);
  if (after >= oldest) return;
  throw new ApiProblem(
    'cursor_vencido',
    'Los eventos que siguen a este cursor ya no se conservan. `cursor` trae el más antiguo que aún se sirve.',
    { cursor: writeCursor('eventos', oldest) },
  );
}

const header = 'Last-Event-ID';

/** Returns null when the client has no event yet, so its stream starts now. @throws ApiProblem parametro_invalido */
function readLastEventId(context: ApiContext): number | null {
  const text = context.get(header);
  if (text === '') return null;
  const { [header]: id } = parseInput(streamHeaders, { [header]: text });
  return Number(id);
}
