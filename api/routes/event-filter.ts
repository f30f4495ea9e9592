import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { EventFilter } from '../../pipelines/watch/history.ts';
import { oldestCursor } from '../../pipelines/webhooks/retention.ts';
import type { EventsQuery } from '../../schemas/http/events.ts';
import { dayOf, instantAfter, instantFrom, writeCursor } from '../input.ts';
import { ApiProblem } from '../problems.ts';

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
