import type { EgressLimits } from '../../pipelines/runtime/egress/policy.ts';
import type { ExchangeLimits } from '../../pipelines/runtime/egress/request.ts';
import { defaultSchedule, type RetrySchedule } from './backoff.ts';
import { defaultHealthRule, type HealthRule } from './health.ts';
import type { RoundLimits } from './round.ts';

/** All limits of delivery in one place. Tests shorten them; an installation may. */
export interface DeliverySettings {
  egress: EgressLimits;
  exchange: ExchangeLimits;
  round: RoundLimits;
  schedule: RetrySchedule;
  health: HealthRule;
  /** Rounds at once of endpoints that answer, and of those that do not. */
  activitySlots: number;
  slowActivitySlots: number;
  sweepEveryMs: number;
  sweepGraceSeconds: number;
  sweepMaxWebhooks: number;
  /** How long a stopping worker waits for its rounds. */
  stopMs: number;
}

const exchangeTimeoutMs = 15_000;

export const defaultDeliverySettings: DeliverySettings = {
  egress: {
    connectTimeoutMs: 5_000,
    // The exchange's own limit covers both; these only keep a forgotten socket from living for ever.
    headersTimeoutMs: exchangeTimeoutMs + 5_000,
    bodyIdleTimeoutMs: exchangeTimeoutMs + 5_000,
    // Customers share hosts (automation services): a low limit would let one slow endpoint take another's sockets. What
    // bounds them is each endpoint's own limit of what may be in flight; kept sockets are used first.
    connectionsPerOrigin: 1_000,
    keepAliveMs: 4_000,
  },
  exchange: { exchangeTimeoutMs, maxBodyBytes: 16_384 },
  round: { claimWindowMs: 14_000, deliveryLeaseMs: 30_000, workLeaseMs: 60_000, lookAgainMs: 500, lingerMs: 3_000 },
  schedule: defaultSchedule,
  health: defaultHealthRule,
  activitySlots: 2_000,
  slowActivitySlots: 500,
  sweepEveryMs: 10_000,
  sweepGraceSeconds: 15,
  sweepMaxWebhooks: 500,
  stopMs: 18_000,
};
