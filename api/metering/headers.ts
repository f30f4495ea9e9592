import type { ApiContext } from '../request.ts';
import type { MinuteStanding } from './minute-limits.ts';
import { minuteMs, secondsUntil } from './periods.ts';
import type { Standing } from './types.ts';

/**
 * RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers: structured fields, `q` units of a window of `w`
 * seconds, `r` left, `t` seconds until it begins anew), and for the minute the older three. Both windows are fixed, not rolling.
 */
export function showMinute(context: ApiContext, { limit, remaining, endsAtMs }: MinuteStanding, nowMs: number): void {
  const resetSeconds = secondsUntil(endsAtMs, nowMs);
  context.set({
    'RateLimit-Policy': `"minuto";q=${limit};w=${minuteMs / 1_000}`,
    RateLimit: `"minuto";r=${remaining};t=${resetSeconds}`,
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(resetSeconds),
  });
}

/** Beside what `showMinute` said. */
export function showMonth(context: ApiContext, { month, limit, remaining }: Standing, nowMs: number): void {
  const windowSeconds = (month.endsAtMs - month.startsAtMs) / 1_000;
  const monthly = {
    policy: `"mes";q=${limit};w=${windowSeconds}`,
    left: `"mes";r=${remaining};t=${secondsUntil(month.endsAtMs, nowMs)}`,
  };
  context.append('RateLimit-Policy', monthly.policy);
  context.append('RateLimit', monthly.left);
}
