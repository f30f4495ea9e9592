import { expect, it } from 'vitest';
import { heartbeatEveryMs } from '../../../../workflows/delivery/activities.ts';
import { defaultDeliverySettings } from '../../../../workflows/delivery/worker.ts';

const { round, exchange, egress, stopMs } = defaultDeliverySettings;
const recordMs = 5_000;

// With a shorter lease, a receiver slower than the lease would get everything twice.
it('a delivery is leased for longer than its exchange and the recording of its result may take', () => {
  expect(round.deliveryLeaseMs).toBeGreaterThanOrEqual(exchange.exchangeTimeoutMs + recordMs);
});

it('a round ends within its 30 s, its lease is longer, and no socket stays open much longer than an exchange', () => {
  expect(round.claimWindowMs + exchange.exchangeTimeoutMs).toBeLessThanOrEqual(30_000);
  expect(round.workLeaseMs).toBeGreaterThan(30_000 + recordMs);
  expect(round.lingerMs).toBeLessThan(round.claimWindowMs);
  expect(egress.headersTimeoutMs).toBeGreaterThan(exchange.exchangeTimeoutMs);
});

it('a stopping worker waits longer than an exchange may take, and is seen alive meanwhile', () => {
  expect(stopMs).toBeGreaterThan(exchange.exchangeTimeoutMs);
  // The workflow's heartbeat timeout is 20 s.
  expect(heartbeatEveryMs * 3).toBeLessThan(20_000);
});
