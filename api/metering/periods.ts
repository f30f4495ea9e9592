import { limaDay, startOfLimaDay } from '../../schemas/lima-time.ts';

export interface Clock {
  /** Milliseconds since 1970: says which month it is. */
  wallMs(): number;
  /** Never set back: says how old a lease is. */
  monotonicMs(): number;
}
export const systemClock: Clock = { wallMs: Date.now, monotonicMs: () => performance.now() };

/** A calendar month in Lima: quotas begin anew at its 00:00. */
export interface Month {
  /** Its first day, YYYY-MM-01. */
  firstDay: string;
  startsAtMs: number;
  endsAtMs: number;
}

export function monthOf(nowMs: number): Month {
  const [year, month] = limaDay(new Date(nowMs)).split('-').map(Number) as [number, number];
  const firstDay = dayOne(year, month);
  const next = month === 12 ? dayOne(year + 1, 1) : dayOne(year, month + 1);
  return { firstDay, startsAtMs: startOfLimaDay(firstDay).getTime(), endsAtMs: startOfLimaDay(next).getTime() };
}

function dayOne(year: number, month: number): string {
  return `${year}-${String(month).padStart(2, '0')}-01`;
}

export const minuteMs = 60_000;

/** Minutes begin with the clock's: the same ones for every process. */
export function minuteOf(nowMs: number): { number: number; endsAtMs: number } {
  const number = Math.floor(nowMs / minuteMs);
  return { number, endsAtMs: (number + 1) * minuteMs };
}

/** Whole seconds until then, rounded up: one who waits them finds it past. At least 1. */
export function secondsUntil(atMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((atMs - nowMs) / 1_000));
}
