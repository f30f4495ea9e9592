import { trace } from '@opentelemetry/api';
import { Context, heartbeat } from '@temporalio/activity';
import type { DeliverInput, RoundResult } from './messages.ts';
import { Round, type RoundDependencies } from './round.ts';

export const heartbeatEveryMs = 5_000;

/** Activities of the queues `delivery` and `delivery-slow`. The worker passes in all clients that they use. */
export function makeDeliveryActivities(dependencies: RoundDependencies) {
  return {
    /**
     * Runs a round (round.ts), which takes at most 30 s if PostgreSQL answers. A failed round can be repeated, because
     * its claimed deliveries are due again when their leases end.
     */
    async deliverRound(input: DeliverInput): Promise<RoundResult> {
      // Heartbeats let Temporal notice a dead worker within seconds instead of at the activity's own timeout.
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
