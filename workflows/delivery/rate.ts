/** Pure: an endpoint's rate limit as a leaky bucket (GCRA): one number, carried in the workflow's state. */
export interface RateState {
  /** When the bucket will be empty, in ms since 1970 of the worker's clock; 0 at first. */
  emptyAtMs: number;
}

/** How far sends may run ahead of their even spacing: a tenth of a second's worth, so short bursts leave together. */
const burstMs = 100;

/** How many requests may leave now. */
export function allowance(state: RateState, nowMs: number, perSecond: number): number {
  const spacingMs = 1_000 / perSecond;
  const ahead = Math.max(0, state.emptyAtMs - nowMs);
  // The first request may leave when nothing is ahead, however wide the spacing is.
  const room = Math.max(burstMs, spacingMs) - ahead;
  return Math.max(0, Math.floor(room / spacingMs + 1e-9));
}

export function spend(state: RateState, nowMs: number, perSecond: number, requests: number): RateState {
  if (requests === 0) return state;
  return { emptyAtMs: Math.max(state.emptyAtMs, nowMs) + (requests * 1_000) / perSecond };
}

/** Until one more may leave. */
export function waitMs(state: RateState, nowMs: number, perSecond: number): number {
  const spacingMs = 1_000 / perSecond;
  const ahead = Math.max(0, state.emptyAtMs - nowMs);
  return Math.max(0, Math.ceil(ahead + spacingMs - Math.max(burstMs, spacingMs)));
}
