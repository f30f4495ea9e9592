import { Context, heartbeat } from '@temporalio/activity';
import { noTracing } from '../../pipelines/runtime/tracing/tracing.ts';
import { runOf } from '../publication/activities.ts';
import type { DeliverInput, RoundResult } from './messages.ts';
import { Round, type RoundDependencies } from './round.ts';

export const heartbeatEveryMs = 5_000;

/** Activities of the queues `delivery` and `delivery-slow`. Their dependencies come from the worker's main; nothing here makes a client. */
export function makeDeliveryActivities(dependencies: RoundDependencies) {
  const { tracing = noTracing } = dependencies;
  return {
    /** One round of a webhook, at most 30 s. Repeatable: what an earlier try claimed is free again when its lease ends. */
    async deliverRound(input: DeliverInput): Promise<RoundResult> {
      // So that a worker that died is noticed in seconds, not when the activity's own time is over.
      const beat = setInterval(() => heartbeat(), heartbeatEveryMs);
      try {
        const { cancellationSignal: stop } = Context.current();
        const attributes = { ...runOf(Context.current()), 'padron.webhook': input.webhookId };
        return await tracing.during({ name: 'deliverRound', kind: 'internal', attributes }, async (unit) => {
          const result = await new Round(dependencies, input, stop).run();
          unit.describe({ 'padron.delivered': result.delivered, 'padron.failed': result.failed });
          return result;
        });
      } finally {
        clearInterval(beat);
      }
    },
  };
}

export type DeliveryActivities = ReturnType<typeof makeDeliveryActivities>;
