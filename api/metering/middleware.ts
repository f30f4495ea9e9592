import { Counter, type Registry } from 'prom-client';
import type { Caller } from '../accounts/callers.ts';
import { ApiProblem } from '../problems.ts';
import { type ApiContext, type ApiMiddleware, callerOf } from '../request.ts';
import type { Meter, Standing } from './meter.ts';
import { type MinuteLimits, type MinuteStanding, type MinuteSubject, minuteMs, secondsUntil } from './minute-limits.ts';

/**
 * Counts one request of the subject in the current minute, and sets the headers that show how many requests are left.
 * @throws ApiProblem limite_por_minuto, with the seconds to the next minute as Retry-After
 */
export async function countRequest(context: ApiContext, limits: MinuteLimits, subject: MinuteSubject): Promise<void> {
  const standing = await limits.count(subject);
  const nowMs = Date.now();
  showMinute(context, standing, nowMs);
  if (standing.isWithin) return;
  const seconds = secondsUntil(standing.endsAtMs, nowMs);
  throw new ApiProblem(
    'limite_por_minuto',
    `Se admiten ${subject.limit} solicitudes por minuto; el siguiente minuto empieza en ${seconds} s.`,
    {},
    { 'Retry-After': String(seconds) },
  );
}

/**
 * Sets RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers, and three older headers about the same
 * minute. A fixed window of `w` seconds has `q` units, `r` are left, and the next window begins in `t` seconds.
 */
function showMinute(context: ApiContext, { limit, remaining, endsAtMs }: MinuteStanding, nowMs: number): void {
  const resetSeconds = secondsUntil(endsAtMs, nowMs);
  context.set({
    'RateLimit-Policy': `"minuto";q=${limit};w=${minuteMs / 1_000}`,
    RateLimit: `"minuto";r=${remaining};t=${resetSeconds}`,
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(resetSeconds),
  });
}

/** Adds the month's units to the headers that `showMinute` has set. */
function showMonth(context: ApiContext, { month, limit, remaining }: Standing, nowMs: number): void {
  const windowSeconds = (month.endsAtMs - month.startsAtMs) / 1_000;
  context.append('RateLimit-Policy', `"mes";q=${limit};w=${windowSeconds}`);
  context.append('RateLimit', `"mes";r=${remaining};t=${secondsUntil(month.endsAtMs, nowMs)}`);
}

/**
 * Makes the middleware that adds the month's units to the headers, also after an error. It runs after the middleware of
 * `makeAccess` on every route that charges units. The route itself checks its input, calls `requireUnits`, looks up the
 * data, and calls `charge` if the result costs units.
 */
export function metered(meter: Meter): ApiMiddleware {
  return async (context, next) => {
    try {
      await next();
    } finally {
      const standing = await meter.standing(callerOf(context));
      if (standing !== null) showMonth(context, standing, Date.now());
    }
  };
}

/**
 * Counts a problem in the metric when a limit caused the problem (429), and ignores every other problem.
 * @param caller undefined for the sandbox token, and for a token that could not be looked up
 */
export type CountRefusal = (problem: ApiProblem, caller: Caller | undefined) => void;

const refusalsName = 'padron_api_limit_refusals_total';

/**
 * The metric has the account's plan as a label, not the account. Otherwise each process would keep a counter per
 * account, and every reader of the metrics would see which customers were refused.
 */
export function makeRefusalCounter(metrics: Registry): CountRefusal {
  const known = metrics.getSingleMetric(refusalsName) as Counter<'code' | 'plan'> | undefined;
  const refusals =
    known ??
    new Counter({
      name: refusalsName,
      help: 'Requests refused by a limit (429), by code of the problem and plan of the account; plan none: the sandbox token, or a token that cannot be looked up.',
      labelNames: ['code', 'plan'] as const,
      registers: [metrics],
    });
  return ({ code, status }, caller) => {
    if (status === 429) refusals.inc({ code, plan: caller?.plan ?? 'none' });
  };
}
