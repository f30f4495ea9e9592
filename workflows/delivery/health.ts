import type { Health, HealthVerdict } from '../../pipelines/webhooks/results.ts';

/** Decides when to pause a webhook, when to warn its owner, and when its endpoint is slow. All functions are pure. */

export interface HealthRule {
  /** Number of failures in a row that pause the webhook, if the first is at least `firstFailureAgeMs` old. */
  failures: number;
  /** Least age in ms of the first failure, so that many failures in a short outage do not pause the webhook. */
  firstFailureAgeMs: number;
  /** An endpoint counts as slow after this number of attempts in a row without an answer in time. */
  slowAfterTimeouts: number;
}

export const defaultHealthRule: HealthRule = {
  failures: 20,
  firstFailureAgeMs: 24 * 3_600_000,
  slowAfterTimeouts: 3,
};

/** The parts of an attempt's result that count for health. In a list, the attempt that ended first comes first. */
export interface Outcome {
  success: boolean;
  timedOut: boolean;
  status: number | null;
  at: Date;
}

type Verdict = Omit<HealthVerdict, 'lastSuccessAt'>;

/**
 * Adds a round's outcomes to the endpoint's health. A success resets the count of failures. An answer 410 pauses the
 * webhook at once. Other failures pause it when their number and the age of the first failure reach the limits of
 * `rule`.
 */
export function judge(before: Health, outcomes: readonly Outcome[], rule: HealthRule): Verdict {
  let health = before;
  let pause: Verdict['pause'] = null;
  for (const outcome of outcomes) {
    health = outcome.success ? healthy : afterFailure(health, outcome);
    if (outcome.status === 410) pause = 'respuesta_410';
    // A pause for failures is cancelled if a success follows them in this round. Nothing cancels the pause of a 410.
    else if (pause !== 'respuesta_410') pause = progress(health, outcome.at, rule) >= 1 ? 'fallos' : null;
  }
  const last = outcomes.at(-1);
  const warning = pause === null && last !== undefined ? dueWarning(health, last.at, rule) : null;
  return { health, pause, warning };
}

/** Whether the endpoint's rounds run on the queue for slow endpoints. */
export function isSlow(timeoutsInARow: number, rule: HealthRule): boolean {
  return timeoutsInARow >= rule.slowAfterTimeouts;
}

const healthy: Health = { failuresInARow: 0, firstFailureAt: null, timeoutsInARow: 0 };

function afterFailure(health: Health, { timedOut, at }: Outcome): Health {
  return {
    failuresInARow: health.failuresInARow + 1,
    firstFailureAt: health.firstFailureAt ?? at,
    timeoutsInARow: timedOut ? health.timeoutsInARow + 1 : 0,
  };
}

/**
 * How near the failures are to a pause: 0 is far, 1 is a pause. Their number and the age of the first failure must both
 * reach the rule's limits, so the smaller of the two shares counts.
 */
function progress({ failuresInARow, firstFailureAt }: Health, now: Date, rule: HealthRule): number {
  if (firstFailureAt === null) return 0;
  const age = rule.firstFailureAgeMs === 0 ? 1 : (now.getTime() - firstFailureAt.getTime()) / rule.firstFailureAgeMs;
  return Math.min(failuresInARow / rule.failures, age);
}

function dueWarning(health: Health, now: Date, rule: HealthRule): Verdict['warning'] {
  const percent = progress(health, now, rule) * 100;
  if (percent >= 90) return 90;
  return percent >= 50 ? 50 : null;
}
