import DataLoader from 'dataloader';
import { noTracing, type OpenUnit, type Tracing } from '../../pipelines/runtime/tracing/tracing.ts';
import type { BatchGate } from './batch-gate.ts';

export interface SharedQueryLimits {
  gate: BatchGate;
  /** RUCs of one query. */
  maxKeys: number;
}

/**
 * Answers by RUC, with one query for all that are asked for together; in traces the query belongs to the first request that
 * waits for it and is linked with the others.
 */
export function makeSharedQuery<Answer>(
  name: string,
  read: (rucs: readonly string[]) => Promise<Answer[]>,
  { gate, maxKeys }: SharedQueryLimits,
  tracing: Tracing = noTracing,
): (ruc: string) => Promise<Answer> {
  const loader = new DataLoader<{ ruc: string; by: OpenUnit | undefined }, Answer>(
    (asked) =>
      gate.during(() =>
        tracing.during(
          {
            name,
            kind: 'internal',
            attributes: { 'padron.rucs': asked.length },
            sharedBy: asked.map(({ by }) => by),
          },
          () => read(asked.map(({ ruc }) => ruc)),
        ),
      ),
    // No cache: an answer may not be older than the query it waited for.
    { cache: false, maxBatchSize: maxKeys, batchScheduleFn: gate.schedule },
  );
  return (ruc) => loader.load({ ruc, by: tracing.current() });
}
