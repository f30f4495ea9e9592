import type { Logger } from '../../pipelines/runtime/log.ts';
import type { OpenUnit, Unit } from '../../pipelines/runtime/tracing/tracing.ts';
import type { ClaimedDelivery } from '../../pipelines/webhooks/claim.ts';
import type { AttemptResult } from '../../pipelines/webhooks/results.ts';
import type { DeliveryMetrics } from './metrics.ts';

/** An attempt in traces. Whose change it tells is known by register and edition, where it went by the webhook. */
export function attemptUnit(webhookId: string, delivery: ClaimedDelivery): Unit {
  return {
    name: 'POST',
    kind: 'client',
    attributes: {
      'http.request.method': 'POST',
      'padron.webhook': webhookId,
      'padron.delivery': delivery.id,
      'padron.attempt': delivery.attempt,
      'padron.event': delivery.event,
      // A test tells no change.
      ...(delivery.isTest ? {} : { 'padron.register': delivery.register, 'padron.edition': delivery.edition }),
    },
  };
}

/** One wide line per attempt; ids alone, no payload and no address. Hands the result on. */
export function reportAttempt<Result extends AttemptResult>(
  { log, metrics }: { log: Logger; metrics: DeliveryMetrics },
  webhookId: string,
  delivery: ClaimedDelivery,
  result: Result,
  unit?: OpenUnit,
): Result {
  if (result.httpStatus !== null) unit?.describe({ 'http.response.status_code': result.httpStatus });
  if (result.failure !== null) unit?.fail(result.failure);
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
