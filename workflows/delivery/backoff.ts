/** Pure: the retry schedule and the reading of Retry-After. */

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

export interface RetrySchedule {
  /** Wait before attempt n + 1, by the number n of attempts made since the schedule (re)started; the first is at once. */
  delaysMs: readonly number[];
  /** Each wait is spread by this share both ways, so that receivers that failed together are not called together. */
  jitter: number;
  retryAfterCapMs: number;
}

/** At once, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h: ten attempts over 75 h 35 min 5 s. */
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
 * The wait before the next attempt in ms, or null when the schedule is used up.
 * @param attempts made since the schedule (re)started, the one that failed just now included
 * @param random in [0, 1)
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
 * Retry-After as RFC 9110 writes it, and nothing that JavaScript would also take: whole seconds, or an IMF-fixdate.
 * Returns ms from now (0 for a time that has passed), or null for anything else. The caller caps.
 * @param text a list where the receiver sent the header more than once, which says nothing
 */
export function parseRetryAfter(text: string | readonly string[] | undefined, nowMs: number): number | null {
  if (typeof text !== 'string') return null;
  const trimmed = text.replace(/^[ \t]+|[ \t]+$/g, '');
  // Ten digits are over 300 years; more would leave the range in which numbers are exact.
  if (/^[0-9]{1,10}$/.test(trimmed)) return Number(trimmed) * secondMs;
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(trimmed)) return null;
  const at = Date.parse(trimmed);
  // Date.parse takes 31 Feb and a wrong weekday; a date that does not come back as written is no date.
  if (Number.isNaN(at) || new Date(at).toUTCString() !== trimmed) return null;
  return Math.max(0, at - nowMs);
}

/** Only these statuses may ask for a wait. */
export function honoursRetryAfter(status: number): boolean {
  return status === 429 || status === 503;
}
