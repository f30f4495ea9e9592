/** Pure: what attempts mean for their endpoint: when it is paused, when its owner is warned before that, when it is slow. */

export type PauseReason = 'fallos' | 'respuesta_410';

/** Percent of the way to a pause at which the owner is warned. */
export type Warning = 50 | 90;

export interface HealthRule {
  /** Failed attempts in a row… */
  failures: number;
  /** …of which the first is at least this old. A burst of failures within a short outage pauses nobody. */
  firstFailureAgeMs: number;
  /** Attempts in a row without an answer in time that make an endpoint slow. */
  slowAfterTimeouts: number;
}

export const defaultHealthRule: HealthRule = {
  failures: 20,
  firstFailureAgeMs: 24 * 3_600_000,
  slowAfterTimeouts: 3,
};

export interface Health {
  failuresInARow: number;
  firstFailureAt: Date | null;
  timeoutsInARow: number;
}

/** An attempt as seen by the endpoint's health, in the order in which attempts ended. */
export interface Outcome {
  success: boolean;
  timedOut: boolean;
  status: number | null;
  at: Date;
}

export interface Verdict {
  health: Health;
  pause: PauseReason | null;
  /** What the failures in a row are due by now, given before or not. None beside a pause, which says more. */
  warning: Warning | null;
}

/** Folds a round of outcomes into the endpoint's health. Any success starts anew; a 410 pauses at once. */
export function judge(before: Health, outcomes: readonly Outcome[], rule: HealthRule): Verdict {
  let health = before;
  let pause: PauseReason | null = null;
  for (const outcome of outcomes) {
    health = outcome.success ? healthy : afterFailure(health, outcome);
    if (outcome.status === 410) pause = 'respuesta_410';
    // A success after the failures that would have paused shows that the endpoint works again; a 410 stands.
    else if (pause !== 'respuesta_410') pause = progress(health, outcome.at, rule) >= 1 ? 'fallos' : null;
  }
  const last = outcomes.at(-1);
  const warning = pause === null && last !== undefined ? dueWarning(health, last.at, rule) : null;
  return { health, pause, warning };
}

/** Whether its rounds belong on the queue of slow endpoints. */
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

/** Share of the way to a pause, from 0: that of the condition which is further from being met. */
function progress({ failuresInARow, firstFailureAt }: Health, now: Date, rule: HealthRule): number {
  if (firstFailureAt === null) return 0;
  const age = rule.firstFailureAgeMs === 0 ? 1 : (now.getTime() - firstFailureAt.getTime()) / rule.firstFailureAgeMs;
  return Math.min(failuresInARow / rule.failures, age);
}

function dueWarning(health: Health, now: Date, rule: HealthRule): Warning | null {
  const percent = progress(health, now, rule) * 100;
  if (percent >= 90) return 90;
  return percent >= 50 ? 50 : null;
}
