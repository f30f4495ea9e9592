/** Messages between workflow and activity hold ids, counts and times, but no payloads, addresses or secrets. */

export const slowQueueName = 'delivery-slow';

export interface DeliverInput {
  webhookId: string;
  /** The rate limit's state after the previous round. Without it, each new round could start with a whole burst. */
  rate?: RateState;
  /** True if the endpoint is slow. Its rounds then run on the queue for slow endpoints. */
  slow?: boolean;
}

export interface RoundResult {
  webhook: 'activo' | 'pausado' | 'eliminado';
  /** Milliseconds until the next delivery is due. 0: the next round starts at once. null: nothing will be due. */
  nextInMs: number | null;
  rate: RateState;
  /** `DeliverInput.slow` of the next round. Workflow histories of earlier releases do not have this field. */
  slow?: boolean;
  delivered: number;
  failed: number;
}

/** An endpoint's leaky bucket (GCRA): requests fill it, and it empties evenly. The workflow keeps it between rounds. */
export interface RateState {
  /** Time at which the bucket will be empty, in ms since 1970 by the worker's clock. It is 0 at first. */
  emptyAtMs: number;
}

/**
 * How many ms a request may be sent before its moment. The rate limit gives each request a moment of its own, evenly
 * spaced. So the requests of a tenth of a second can be sent together.
 */
const burstMs = 100;

/**
 * How far `emptyAtMs` can be after now. Requests move it at most 1,000 ms past now, which is one spacing at the lowest
 * rate (one request per second). A later time comes from another worker's clock, or this clock was set back. The bucket
 * then counts as empty. Otherwise the wait could last for ever.
 */
const farthestAheadMs = 1_500;

/** How many requests may be sent now. */
export function allowance(state: RateState, nowMs: number, perSecond: number): number {
  const spacingMs = 1_000 / perSecond;
  // With an empty bucket (the moment of the next request has come), one request may be sent, even if the spacing
  // between requests is longer than `burstMs`.
  const room = Math.max(burstMs, spacingMs) - aheadMs(state, nowMs);
  return Math.max(0, Math.floor(room / spacingMs + 1e-9));
}

export function spend(state: RateState, nowMs: number, perSecond: number, requests: number): RateState {
  if (requests === 0) return state;
  return { emptyAtMs: nowMs + aheadMs(state, nowMs) + (requests * 1_000) / perSecond };
}

/** Milliseconds until one more request may be sent. */
export function waitMs(state: RateState, nowMs: number, perSecond: number): number {
  const spacingMs = 1_000 / perSecond;
  return Math.max(0, Math.ceil(aheadMs(state, nowMs) + spacingMs - Math.max(burstMs, spacingMs)));
}

function aheadMs({ emptyAtMs }: RateState, nowMs: number): number {
  const ahead = emptyAtMs - nowMs;
  return ahead > 0 && ahead <= farthestAheadMs ? ahead : 0;
}
