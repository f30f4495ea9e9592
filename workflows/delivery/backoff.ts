/** The retry schedule and the parsing of Retry-After. All functions here are pure. */

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

export interface RetrySchedule {
  /** Waits in ms after the first, second, … attempt of the schedule. The first attempt is made at once. */
  delaysMs: readonly number[];
  /** Each wait is varied by up to this share, so that receivers that failed together are not called together. */
  jitter: number;
  retryAfterCapMs: number;
}

/**
 * Ten attempts in 75 h 35 min 5 s. The first attempt is made at once. `delaysMs` are the waits before the other nine.
 */
export const defaultSchedule: RetrySchedule = {
  delaysMs: [
    5 * secondMs,
    5 * minuteMs,
    30 * minuteMs,
    2 * hourMs,
    5 * hourMs,
    10 * hourMs,
    14 * hourMs,
    20 * hourMs,
    24 * hourMs,
  ],
  jitter: 0.2,
  retryAfterCapMs: 24 * hourMs,
};

/**
 * Returns the wait in ms before the next attempt, or null if the schedule has ended.
 * @param attempts attempts since the schedule was started or restarted, including the one that just failed
 * @param random a number from 0 to below 1
 */
export function nextDelayMs(
  schedule: RetrySchedule,
  attempts: number,
  retryAfterMs: number | null,
  random: number,
): number | null {
  const base = schedule.delaysMs[attempts - 1];
  if (base === undefined) return null;
  const spread = Math.round(base * (1 - schedule.jitter + 2 * schedule.jitter * random));
  return Math.max(spread, Math.min(retryAfterMs ?? 0, schedule.retryAfterCapMs));
}

/**
 * Returns the wait in ms that a header Retry-After asks for; 0 for a past time, null for an unreadable text. By RFC
 * 9110, the text is whole seconds or a date like `Sun, 06 Nov 1994 08:49:37 GMT`. Other dates that JavaScript accepts
 * are refused. The caller limits the wait.
 * @param text the header's value; a list, which gives null, if the receiver sent the header more than once
 */
export function parseRetryAfter(text: string | readonly string[] | undefined, nowMs: number): number | null {
  if (typeof text !== 'string') return null;
  const trimmed = text.replace(/^[ \t]+|[ \t]+$/g, '');
  // Ten digits of seconds are over 300 years. More digits could exceed the integers that a number holds exactly.
  if (/^[0-9]{1,10}$/.test(trimmed)) return Number(trimmed) * secondMs;
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(trimmed)) return null;
  const at = Date.parse(trimmed);
  // Date.parse accepts 31 February and a wrong weekday. toUTCString() gives the same text only for a valid date.
  if (Number.isNaN(at) || new Date(at).toUTCString() !== trimmed) return null;
  return Math.max(0, at - nowMs);
}

/** The header Retry-After is used only with these statuses. */
export function honoursRetryAfter(status: number): boolean {
  return status === 429 || status === 503;
}
