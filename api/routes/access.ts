import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { hasLists } from '../../pipelines/watch/lists.ts';
import { type Identify, watchPlan } from '../accounts/callers.ts';
import type { Catalogue } from '../catalogue.ts';
import { type ApiMiddleware, access } from '../request.ts';

/** What changes something, and the stream. */
export function mayWatch(identify: Identify): ApiMiddleware {
  return access(identify, watchPlan);
}

/** What only reads. An account that had the plan and still has lists goes on reading what it has, and changes nothing. */
export function mayReadWatch(identify: Identify, pool: Pool): ApiMiddleware {
  return access(identify, watchPlan, ({ accountId }) => hasLists(pool, accountId));
}

/** Every meta states the date of the data; lists and webhooks exist before any data does, so here it may be null. */
export async function registerMetaOf(catalogue: Catalogue): Promise<{ fecha_dato: string | null }> {
  const { padron_reducido } = await catalogue.snapshot();
  return { fecha_dato: padron_reducido?.edition.fechaDato ?? null };
}
