import { type Span, SpanKind, type SpanOptions } from '@opentelemetry/api';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Logger } from '../../pipelines/runtime/log.ts';
import { failSpan } from '../../pipelines/runtime/tracing/span.ts';
import type { ClaimedDelivery } from '../../pipelines/webhooks/claim.ts';
import type { AttemptResult } from '../../pipelines/webhooks/results.ts';

export type DeliveryMetrics = ReturnType<typeof makeDeliveryMetrics>;

export function makeDeliveryMetrics(registry: Registry) {
  const registers = [registry];
  return {
    attempts: new Counter({
      name: 'padron_delivery_attempts_total',
      help: 'Attempts by result: entregada or the class of failure',
      labelNames: ['result'],
      registers,
    }),
    seconds: new Histogram({
      name: 'padron_delivery_attempt_seconds',
      help: 'From the start of an attempt to its answer',
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 15],
      registers,
    }),
    sinceChange: new Histogram({
      name: 'padron_delivery_since_change_seconds',
      help: 'From when the publication with a change was ready to be compared to the first attempt to deliver it; held deliveries wait long',
      buckets: [0.05, 0.1, 0.15, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 3_600, 86_400],
      registers,
    }),
    paused: new Counter({
      name: 'padron_delivery_webhooks_paused_total',
      help: 'Webhooks paused by the service',
      labelNames: ['cause'],
      registers,
    }),
    swept: new Counter({
      name: 'padron_delivery_swept_total',
      help: 'Webhooks with overdue work that nobody worked on',
      registers,
    }),
  };
}

/** The trace span of an attempt. Register and edition identify the change, and the webhook identifies the receiver. */
export function attemptSpan(webhookId: string, delivery: ClaimedDelivery): SpanOptions {
  return {
    kind: SpanKind.CLIENT,
    attributes: {
      'http.request.method': 'POST',
      'padron.webhook': webhookId,
      'padron.delivery': delivery.id,
      'padron.attempt': delivery.attempt,
      'padron.event': delivery.event,
      // A test delivery belongs to no change.
      ...(delivery.isTest ? {} : { 'padron.register': delivery.register, 'padron.edition': delivery.edition }),
    },
  };
}

/** Counts the attempt and logs it in one line, which has only ids, never a payload or an address. Returns `result`. */
export function reportAttempt<Result extends AttemptResult>(
  { log, metrics }: { log: Logger; metrics: DeliveryMetrics },
  webhookId: string,
  delivery: ClaimedDelivery,
  result: Result,
  span: Span,
): Result {
  if (result.httpStatus !== null) span.setAttribute('http.response.status_code', result.httpStatus);
  if (result.failure !== null) failSpan(span, result.failure);
  metrics.attempts.inc({ result: result.failure ?? 'entregada' });
  metrics.seconds.observe(result.durationMs / 1_000);
  if (delivery.attempt === 1 && !delivery.isTest) {
    // `startedMs` is by this worker's clock, and `occurredAt` is by PostgreSQL's clock. The metric is exact only if the
    // two clocks agree.
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
    result.success ? 'delivered' : 'not delivered',
  );
  return result;
}
