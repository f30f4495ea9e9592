import { INVALID_SPAN_CONTEXT, trace } from '@opentelemetry/api';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { makeDeliveryMetrics, reportAttempt } from '../../../../workflows/delivery/metrics.ts';
import { claimedDelivery } from '../../../support/delivery/claimed-delivery.ts';
import { silentLog } from '../../../support/watch/harness.ts';

// The clock stands still, so that each delivery is exactly as old as its test says.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const noSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

function report(
  parts: { attempt: number; isTest?: boolean; secondsAgo: number; failure?: string | null },
  registry: Registry,
) {
  const { attempt, isTest = false, secondsAgo, failure = null } = parts;
  const metrics = metricsOf(registry);
  const delivery = claimedDelivery({ attempt, isTest, occurredAt: new Date(Date.now() - secondsAgo * 1_000) });
  const success = failure === null;
  const { day, id, leaseToken } = delivery;
  const result = {
    day,
    id,
    leaseToken,
    attempt,
    isTest,
    durationMs: 20,
    success,
    httpStatus: 204,
    failure,
    response: null,
    responseCut: false,
    retryInMs: null,
  };
  reportAttempt({ log: silentLog, metrics }, 'wh_1', delivery, result, noSpan);
}

const made = new Map<Registry, ReturnType<typeof makeDeliveryMetrics>>();
function metricsOf(registry: Registry) {
  const known = made.get(registry) ?? makeDeliveryMetrics(registry);
  made.set(registry, known);
  return known;
}

it('the time from the change to the first attempt is counted once per delivery, and never for retries and tests', async () => {
  const registry = new Registry();
  report({ attempt: 1, secondsAgo: 3 }, registry);
  report({ attempt: 2, secondsAgo: 400, failure: 'tiempo_agotado' }, registry);
  report({ attempt: 1, isTest: true, secondsAgo: 400 }, registry);
  // A clock that is behind does not give a negative time.
  report({ attempt: 1, secondsAgo: -5 }, registry);
  const text = await registry.metrics();
  // The time of a change is that of its publication's download, before the comparison.
  expect(text).toContain('HELP padron_delivery_since_change_seconds From when the publication with a change was ready');
  expect(text).toMatch(/padron_delivery_since_change_seconds_bucket\{le="2"\} 1/);
  expect(text).toMatch(/padron_delivery_since_change_seconds_bucket\{le="5"\} 2/);
  expect(text).toMatch(/padron_delivery_since_change_seconds_count 2/);
  expect(text).toMatch(/padron_delivery_attempts_total\{result="entregada"\} 3/);
  expect(text).toMatch(/padron_delivery_attempts_total\{result="tiempo_agotado"\} 1/);
  // No label grows with the number of customers.
  expect(text).not.toMatch(/wh_1|en_1/);
});
