/** Pure: what an attempt's answer means, and when an endpoint is paused. */

export type PauseReason = 'fallos' | 'respuesta_410';

export interface HealthRule {
  /** Failed attempts in a row… */
  failures: number;
  /** …of which the first is at least this old. A burst of failures within a short outage pauses nobody. */
  firstFailureAgeMs: number;
}

export const defaultHealthRule: HealthRule = { failures: 20, firstFailureAgeMs: 24 * 3_600_000 };

export interface Health {
  failuresInARow: number;
  firstFailureAt: Date | null;
}

/** An attempt as seen by the endpoint's health, in the order in which attempts ended. */
export interface Outcome {
  success: boolean;
  status: number | null;
  at: Date;
}

/** Folds a round of outcomes into the endpoint's health. Any success starts anew; a 410 pauses at once. */
export function judge(
  health: Health,
  outcomes: readonly Outcome[],
  rule: HealthRule,
): { health: Health; pause: PauseReason | null } {
  let { failuresInARow, firstFailureAt } = health;
  let pause: PauseReason | null = null;
  for (const outcome of outcomes) {
    if (outcome.success) {
      failuresInARow = 0;
      firstFailureAt = null;
      // A success after the failures that would have paused shows that the endpoint works again; a 410 stands.
      if (pause === 'fallos') pause = null;
      continue;
    }
    failuresInARow += 1;
    firstFailureAt ??= outcome.at;
    if (outcome.status === 410) pause = 'respuesta_410';
    else if (pause === null && isLasting(failuresInARow, firstFailureAt, outcome.at, rule)) pause = 'fallos';
  }
  return { health: { failuresInARow, firstFailureAt }, pause };
}

function isLasting(failures: number, first: Date, now: Date, rule: HealthRule): boolean {
  return failures >= rule.failures && now.getTime() - first.getTime() >= rule.firstFailureAgeMs;
}
