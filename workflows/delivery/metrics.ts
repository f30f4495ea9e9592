import { Counter, Histogram, type Registry } from 'prom-client';

export interface DeliveryMetrics {
  attempts: Counter<'result'>;
  seconds: Histogram;
  /** Since the change was detected, to the moment a first attempt of it starts. */
  sinceChange: Histogram;
  paused: Counter<'cause'>;
  swept: Counter;
}

export function makeDeliveryMetrics(registry: Registry): DeliveryMetrics {
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
      help: 'From the end of the comparison that found a change to the first attempt of its notice; held ones wait long',
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
