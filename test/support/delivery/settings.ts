import { type DeliverySettings, defaultDeliverySettings } from '../../../workflows/delivery/worker.ts';

/** The product's schedule and limits, shortened to fractions of a second. */
export const quickSettings: Partial<DeliverySettings> = {
  schedule: { delaysMs: [200, 300, 400], jitter: 0.2, retryAfterCapMs: 60_000 },
  exchange: { exchangeTimeoutMs: 1_500, maxBodyBytes: 16_384 },
  round: {
    ...defaultDeliverySettings.round,
    claimWindowMs: 4_000,
    deliveryLeaseMs: 4_000,
    workLeaseMs: 8_000,
    lookAgainMs: 100,
    lingerMs: 300,
  },
  sweepEveryMs: 500,
  sweepGraceSeconds: 1,
  stopMs: 5_000,
};
