/** What passes between the workflow and its activity: ids, counts and times, never payloads, addresses or secrets. */

export const wakeSignalName = 'wake';
export const slowQueueName = 'delivery-slow';

export interface DeliverInput {
  webhookId: string;
  /** Carried from round to round, so a new round does not start with a whole burst. */
  rate?: RateState;
  /** True if the endpoint is slow: its rounds run on the queue for slow endpoints. */
  slow?: boolean;
}

export interface RoundResult {
  webhook: 'activo' | 'pausado' | 'eliminado';
  /** Milliseconds until something is due: 0 for at once, null for nothing. */
  nextInMs: number | null;
  rate: RateState;
  /** The queue of the next round, as in DeliverInput. Histories recorded by earlier releases have no such field. */
  slow?: boolean;
  delivered: number;
  failed: number;
}

/** An endpoint's rate limit as a leaky bucket (GCRA): a single number, carried in the workflow's state. */
export interface RateState {
  /** When the bucket will be empty, in ms since 1970 by the worker's clock; 0 at first. */
  emptyAtMs: number;
}

/** Requests may be this far ahead of even spacing, so short bursts are sent together: a tenth of a second's worth. */
const burstMs = 100;

/**
 * Requests are ahead by a burst or by one spacing, which is a second at the lowest rate. A bucket that is fuller than
 * that was filled by a clock that was set back since, or by another worker's. It counts as empty: the wait could last
 * for ever.
 */
const farthestAheadMs = 1_500;

/** How many requests may be sent now. */
export function allowance(state: RateState, nowMs: number, perSecond: number): number {
  const spacingMs = 1_000 / perSecond;
  // The first request may be sent if nothing is ahead, however wide the spacing is.
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
