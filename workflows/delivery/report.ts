import type { Logger } from '../../deploy/runtime/log.ts';
import type { ClaimedDelivery } from '../../pipelines/watch/claim.ts';
import type { AttemptResult } from '../../pipelines/watch/record.ts';
import type { DeliveryMetrics } from './metrics.ts';

/** One wide line per attempt; ids alone, no payload and no address. Hands the result on. */
export function reportAttempt<Result extends AttemptResult>(
  { log, metrics }: { log: Logger; metrics: DeliveryMetrics },
  webhookId: string,
  delivery: ClaimedDelivery,
  result: Result,
): Result {
  metrics.attempts.inc({ result: result.failure ?? 'entregada' });
  metrics.seconds.observe(result.durationMs / 1_000);
  if (delivery.attempt === 1 && !delivery.isTest) {
    // By the clocks of two workers: good to what these differ.
    const startedMs = Date.now() - result.durationMs;
    metrics.sinceChange.observe(Math.max(0, startedMs - delivery.occurredAt.getTime()) / 1_000);
  }
  log.info(
    {
      webhook: webhookId,
      delivery: delivery.id,
      event: delivery.event,
      attempt: delivery.attempt,
      status: result.httpStatus,
      failure: result.failure,
      durationMs: result.durationMs,
      retryInMs: result.retryInMs,
    },
    result.success ? 'notice delivered' : 'notice not delivered',
  );
  return result;
}
