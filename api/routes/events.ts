import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { type EventFilter, lastPosition, pageEvents, type StoredEvent } from '../../pipelines/watch/history.ts';
import { pageOwnerNotices, type StoredOwnerNotice } from '../../pipelines/webhooks/owner-notices.ts';
import { oldestCursor } from '../../pipelines/webhooks/retention.ts';
import { type EventPayload, type EventsQuery, eventsQuery } from '../../schemas/http/events.ts';
import { noticesQuery } from '../../schemas/http/webhooks.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import type { Identify } from '../accounts/callers.ts';
import { answerPrivately } from '../answers.ts';
import type { Catalogue } from '../catalogue.ts';
import { dayOf, instantAfter, instantFrom, notOfThisList, readCursor, writeCursor } from '../input.ts';
import { ApiProblem } from '../problems.ts';
import { type ApiRouter, callerOf, parseInput } from '../request.ts';
import { mayReadWatch, registerMetaOf } from './access.ts';

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

export type EventQuery = Pick<EventsQuery, 'desde' | 'hasta' | 'ruc' | 'evento' | 'lista'>;

/** The filter of the history and of the stream. An event's partition is its day in Lima. */
export function filterOf({ desde, hasta, ruc, evento, lista }: EventQuery): Omit<EventFilter, 'after'> {
  return {
    ruc,
    evento,
    list: lista,
    ...(desde === undefined ? {} : { fromDay: dayOf(desde), from: instantFrom(desde) }),
    ...(hasta === undefined ? {} : { toDay: dayOf(hasta), before: instantAfter(hasta) }),
  };
}

/**
 * Asked after the events were read, never before: what the retention removes in between would be a gap that nobody is
 * told of.
 * @throws ApiProblem cursor_vencido when events after the position may be gone
 */
export async function requireKept(pool: Pool, accountId: number, after: number): Promise<void> {
  const oldest = await oldestCursor(pool, accountId);
  if (after >= oldest) return;
  throw new ApiProblem(
    'cursor_vencido',
    'Los eventos que siguen a este cursor ya no se conservan. `cursor` trae el más antiguo que aún se sirve.',
    { cursor: writeCursor('eventos', oldest) },
  );
}

/** GET /id/v1/watch/avisos: what the account is told about its webhooks, newest first. */
export function registerNoticeRoutes(router: ApiRouter, { identify, catalogue, pool }: EventParts): void {
  router.get('/id/v1/watch/avisos', mayReadWatch(identify, pool), async (context) => {
    const { limite, cursor } = parseInput(noticesQuery, context.query);
    const before = cursor === undefined ? null : Number(readCursor('avisos', cursor, ''));
    const notices = await pageOwnerNotices(pool, callerOf(context).accountId, before, limite + 1);
    const page = notices.slice(0, limite);
    const next = notices.length > limite ? writeCursor('avisos', page.at(-1)!.id) : null;
    answerPrivately(context, 200, page.map(shownNotice), { ...(await registerMetaOf(catalogue)), cursor: next });
  });
}

function shownNotice({ id, kind, webhookId, detail, at }: StoredOwnerNotice) {
  const { primer_fallo_en: since } = detail;
  return {
    id,
    aviso: kind,
    webhook: webhookId,
    ocurrido_en: limaTime(at),
    detalle: { ...detail, ...(typeof since === 'string' ? { primer_fallo_en: limaTime(new Date(since)) } : {}) },
  };
}
