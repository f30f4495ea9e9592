import type { Health, HealthVerdict } from '../../pipelines/webhooks/results.ts';

/** What attempts mean for their endpoint: when it is paused, when its owner is warned, and when it is slow. Pure. */

export interface HealthRule {
  /** This many failed attempts in a row pause the webhook… */
  failures: number;
  /** …if the first of them is at least this old. So many failures within a short outage do not pause it. */
  firstFailureAgeMs: number;
  /** An endpoint is slow after this many attempts in a row without an answer in time. */
  slowAfterTimeouts: number;
}

export const defaultHealthRule: HealthRule = {
  failures: 20,
  firstFailureAgeMs: 24 * 3_600_000,
  slowAfterTimeouts: 3,
};

/** The parts of an attempt's result that count for health. Outcomes are in the order in which attempts ended. */
export interface Outcome {
  success: boolean;
  timedOut: boolean;
  status: number | null;
  at: Date;
}

type Verdict = Omit<HealthVerdict, 'lastSuccessAt'>;

/** Adds a round of outcomes to the endpoint's health. Any success resets the failures; a 410 pauses at once. */
export function judge(before: Health, outcomes: readonly Outcome[], rule: HealthRule): Verdict {
  let health = before;
  let pause: Verdict['pause'] = null;
  for (const outcome of outcomes) {
    health = outcome.success ? healthy : afterFailure(health, outcome);
    if (outcome.status === 410) pause = 'respuesta_410';
    // A success after enough failures shows that the endpoint works again. It does not undo a 410.
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

/** How far the failures have gone towards a pause, from 0 to 1. The condition that is less met counts. */
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
