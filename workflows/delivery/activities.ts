import { trace } from '@opentelemetry/api';
import { Context, heartbeat } from '@temporalio/activity';
import type { DeliverInput, RoundResult } from './messages.ts';
import { Round, type RoundDependencies } from './round.ts';

export const heartbeatEveryMs = 5_000;

/** Activities of the queues `delivery` and `delivery-slow`. Their dependencies come from the worker's main; nothing here makes a client. */
export function makeDeliveryActivities(dependencies: RoundDependencies) {
  return {
    /** One round of a webhook, at most 30 s. Repeatable: what an earlier try claimed is free again when its lease ends. */
    async deliverRound(input: DeliverInput): Promise<RoundResult> {
      // So that a worker that died is noticed in seconds, not when the activity's own time is over.
      const beat = setInterval(() => heartbeat(), heartbeatEveryMs);
      try {
        const { cancellationSignal: stop } = Context.current();
        const span = trace.getActiveSpan();
        span?.setAttribute('padron.webhook', input.webhookId);
        const result = await new Round(dependencies, input, stop).run();
        span?.setAttributes({ 'padron.delivered': result.delivered, 'padron.failed': result.failed });
        return result;
      } finally {
        clearInterval(beat);
      }
    },
  };
}

export type DeliveryActivities = ReturnType<typeof makeDeliveryActivities>;
