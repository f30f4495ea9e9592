/** What passes between workflow and activity: ids, counts and times; never payloads, addresses or secrets. */

export const wakeSignalName = 'wake';
export const slowQueueName = 'delivery-slow';

export interface DeliverInput {
  webhookId: string;
  /** Carried from round to round, so that a new round does not start with a full bucket. */
  rate?: RateState;
  /** The endpoint is slow: its rounds run on the queue of those. Left out: it is not. */
  slow?: boolean;
}

export interface RoundResult {
  webhook: 'activo' | 'pausado' | 'eliminado';
  /** Until something is due: 0 at once, null nothing is. */
  nextInMs: number | null;
  rate: RateState;
  /** Where the next round belongs, as in DeliverInput. Rounds recorded by earlier releases do not say. */
  slow?: boolean;
  delivered: number;
  failed: number;
}

/** Pure: an endpoint's rate limit as a leaky bucket (GCRA): one number, carried in the workflow's state. */
export interface RateState {
  /** When the bucket will be empty, in ms since 1970 of the worker's clock; 0 at first. */
  emptyAtMs: number;
}

/** How far sends may run ahead of their even spacing: a tenth of a second's worth, so short bursts leave together. */
const burstMs = 100;

/**
 * Sends run ahead by a burst or by one spacing, a second at the lowest rate. A bucket that is fuller than that was filled by a
 * clock that has been set back since, or is another worker's: waiting for it could take for ever.
 */
const farthestAheadMs = 1_500;

/** How many requests may leave now. */
export function allowance(state: RateState, nowMs: number, perSecond: number): number {
  const spacingMs = 1_000 / perSecond;
  // The first request may leave when nothing is ahead, however wide the spacing is.
  const room = Math.max(burstMs, spacingMs) - aheadMs(state, nowMs);
  return Math.max(0, Math.floor(room / spacingMs + 1e-9));
}

export function spend(state: RateState, nowMs: number, perSecond: number, requests: number): RateState {
  if (requests === 0) return state;
  return { emptyAtMs: nowMs + aheadMs(state, nowMs) + (requests * 1_000) / perSecond };
}

/** Until one more may leave. */
export function waitMs(state: RateState, nowMs: number, perSecond: number): number {
  const spacingMs = 1_000 / perSecond;
  return Math.max(0, Math.ceil(aheadMs(state, nowMs) + spacingMs - Math.max(burstMs, spacingMs)));
}

function aheadMs({ emptyAtMs }: RateState, nowMs: number): number {
  const ahead = emptyAtMs - nowMs;
  return ahead > 0 && ahead <= farthestAheadMs ? ahead : 0;
}
