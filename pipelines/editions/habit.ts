import { limaDay, startOfLimaDay } from '../../schemas/lima-time.ts';

// When an authority publishes a register, judged by when it did so before. No time is promised by any authority.

/** From how much of the past a habit is judged, and how long after it a publication is not yet overdue. */
export const habitLimits = {
  /** Newest days with a publication that count. */
  maxDays: 60,
  /** With fewer days no habit is known. */
  minDays: 4,
  /** A daily register publishes on a weekday if it did so on at least this part of them in the last weeks. */
  weekdayShare: 0.5,
  weekdayWeeks: 6,
  /** Days between two publications of a register that is published monthly. */
  monthlyGapDays: { from: 26, to: 35 },
  /** Minutes after the latest usual time of the day after which a daily register is overdue. */
  graceMinutes: 90,
  /** Days after the longest gap so far after which another register is overdue, at noon in Lima. */
  graceDays: 2,
} as const;

/** `irregular` means that the days between publications differ, as for a list that changes when a case is decided. */
export type Rhythm = 'daily' | 'monthly' | 'irregular';

export interface Habit {
  rhythm: Rhythm;
  /** Minutes after midnight in Lima. Eight of ten publications came from `earliest` to `latest`. */
  minutes: { usual: number; earliest: number; latest: number };
  /** Days from one publication to the next. */
  gapDays: { usual: number; longest: number };
  /** Days of the week on which a daily register publishes, 0 for Sunday. All seven for other registers. */
  weekdays: readonly number[];
  /** The usual day of the month. */
  dayOfMonth: number;
}

export interface Expected {
  /** When the publication is expected, in Lima's day by the habit. */
  at: Date;
  /** After this the authority is later than it usually is. */
  overdueAt: Date;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
const noonMinutes = 12 * 60;

/** Returns the habit, or null when too few publications are known. @param times of publication, in any order */
export function habitOf(times: readonly Date[]): Habit | null {
  const firstOfDay = new Map<number, number>();
  for (const at of [...times].sort((one, other) => other.getTime() - one.getTime())) {
    // The authority may publish twice on a day. The earlier time overwrites the later one.
    firstOfDay.set(dayNumberOf(at), minutesOf(at));
  }
  const days = [...firstOfDay.keys()].slice(0, habitLimits.maxDays).reverse();
  if (days.length < habitLimits.minDays) return null;
  const minutes = sorted(days.map((day) => firstOfDay.get(day)!));
  const gaps = sorted(days.slice(1).map((day, index) => day - days[index]!));
  const usualGap = partOf(gaps, 0.5);
  const rhythm = rhythmOf(usualGap);
  return {
    rhythm,
    minutes: { usual: partOf(minutes, 0.5), earliest: partOf(minutes, 0.1), latest: partOf(minutes, 0.9) },
    gapDays: { usual: usualGap, longest: gaps.at(-1)! },
    weekdays: rhythm === 'daily' ? weekdaysOf(days) : [0, 1, 2, 3, 4, 5, 6],
    dayOfMonth: partOf(sorted(days.map((day) => new Date(day * dayMs).getUTCDate())), 0.5),
  };
}

function rhythmOf(gapDays: number): Rhythm {
  const { from, to } = habitLimits.monthlyGapDays;
  if (gapDays <= 1) return 'daily';
  return gapDays >= from && gapDays <= to ? 'monthly' : 'irregular';
}

/** @param days with a publication, ascending */
function weekdaysOf(days: readonly number[]): readonly number[] {
  const last = days.at(-1)!;
  const first = Math.max(days[0]!, last - habitLimits.weekdayWeeks * 7 + 1);
  const published = new Set(days);
  const all = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return [0, 1, 2, 3, 4, 5, 6].filter((weekday) => {
    const such = all.filter((day) => weekdayOf(day) === weekday);
    // A weekday that has not come yet, in the first week, counts as one with a publication.
    if (such.length === 0) return true;
    return such.filter((day) => published.has(day)).length / such.length >= habitLimits.weekdayShare;
  });
}

/** Returns when the publication after that of `last` is expected. */
export function nextExpected(habit: Habit, last: Date): Expected {
  const { minutes, gapDays } = habit;
  const lastDay = dayNumberOf(last);
  const day = expectedDay(habit, lastDay);
  const at = momentOf(day, minutes.usual);
  if (habit.rhythm === 'daily') return { at, overdueAt: momentOf(day, minutes.latest + habitLimits.graceMinutes) };
  const overdueDay = Math.max(day, lastDay + gapDays.longest) + habitLimits.graceDays;
  return { at, overdueAt: momentOf(overdueDay, noonMinutes) };
}

/** Returns the next `count` publications that are expected after `now`, as if each came when it is expected. */
export function expectedAfter(habit: Habit, last: Date, now: Date, count: number): Date[] {
  const found: Date[] = [];
  let { at } = nextExpected(habit, last);
  while (found.length < count) {
    if (at > now) found.push(at);
    at = nextExpected(habit, at).at;
  }
  return found;
}

function expectedDay({ rhythm, weekdays, gapDays, dayOfMonth }: Habit, lastDay: number): number {
  if (rhythm === 'monthly') {
    const wanted = lastDay + gapDays.usual;
    const candidates = [0, 1, 2].map((months) => dayInMonth(lastDay, months, dayOfMonth));
    const later = candidates.filter((day) => day > lastDay);
    return later.reduce((best, day) => (Math.abs(day - wanted) < Math.abs(best - wanted) ? day : best));
  }
  if (rhythm === 'irregular') return lastDay + gapDays.usual;
  let day = lastDay + 1;
  while (weekdays.length > 0 && !weekdays.includes(weekdayOf(day))) day += 1;
  return day;
}

/** Returns a day of the month that is `months` after that of `from`. A shorter month gives its last day. */
function dayInMonth(from: number, months: number, dayOfMonth: number): number {
  const start = new Date(from * dayMs);
  const [year, month] = [start.getUTCFullYear(), start.getUTCMonth() + months];
  const lastOfMonth = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(dayOfMonth, lastOfMonth)) / dayMs;
}

function dayNumberOf(at: Date): number {
  return Date.parse(limaDay(at)) / dayMs;
}

function minutesOf(at: Date): number {
  return Math.floor((at.getTime() - startOfLimaDay(limaDay(at)).getTime()) / minuteMs);
}

function momentOf(day: number, minutes: number): Date {
  const start = startOfLimaDay(new Date(day * dayMs).toISOString().slice(0, 10));
  return new Date(start.getTime() + minutes * minuteMs);
}

/** Day 0, 1970-01-01, was a Thursday. */
function weekdayOf(day: number): number {
  return (day + 4) % 7;
}

function sorted(values: readonly number[]): number[] {
  return [...values].sort((one, other) => one - other);
}

/** @param part 0.5 is the median @param values ascending */
function partOf(values: readonly number[], part: number): number {
  return values[Math.floor((values.length - 1) * part)]!;
}
