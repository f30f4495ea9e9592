import { expect, it } from 'vitest';
import { heartbeatEveryMs } from '../../../../workflows/delivery/activities.ts';
import { defaultDeliverySettings } from '../../../../workflows/delivery/worker.ts';

const { round, exchange, egress, stopMs } = defaultDeliverySettings;
const recordMs = 5_000;

// A receiver slower than the lease got everything twice.
it('a delivery is leased for longer than its exchange may take and its result takes to be recorded', () => {
  expect(round.deliveryLeaseMs).toBeGreaterThanOrEqual(exchange.exchangeTimeoutMs + recordMs);
});

it('a round ends within its 30 s, its lease is longer, and no socket outlives an exchange by much', () => {
  expect(round.claimWindowMs + exchange.exchangeTimeoutMs).toBeLessThanOrEqual(30_000);
  expect(round.workLeaseMs).toBeGreaterThan(30_000 + recordMs);
  expect(round.lingerMs).toBeLessThan(round.claimWindowMs);
  expect(egress.headersTimeoutMs).toBeGreaterThan(exchange.exchangeTimeoutMs);
});

it('a worker that stops waits longer than an exchange may take, and is seen alive meanwhile', () => {
  expect(stopMs).toBeGreaterThan(exchange.exchangeTimeoutMs);
  // The workflow's heartbeat timeout is 20 s.
  expect(heartbeatEveryMs * 3).toBeLessThan(20_000);
});
