import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { toDate, toDayNumber } from '../calendar/days.ts';

// What an account used per day, and what it will have used at the end of the month.

/** Units of one day in Lima, from the month's quota and from prepaid units. */
export interface DayUse {
  day: string;
  units: number;
}

/**
 * Returns the use of each day from `from` to `to`, both included, oldest first. A day without use has 0 units. Days
 * before the first one that was ever counted are left out, because nothing is known about them.
 */
export async function readDailyUse(pool: Pool, accountId: number, from: string, to: string): Promise<DayUse[]> {
  const { rows } = await pool.query<DayUse>({
    name: 'daily-use-read',
    text: `SELECT each::date AS day, coalesce(d.units, 0) AS units
           FROM (SELECT min(day) AS day FROM quota_day WHERE account_id = $1) AS first
           CROSS JOIN generate_series(greatest(first.day, $2::date)::timestamp, $3::date, '1 day') AS each
           LEFT JOIN quota_day d ON d.account_id = $1 AND d.day = each::date
           WHERE first.day IS NOT NULL ORDER BY each`,
    values: [accountId, from, to],
  });
  return rows;
}

export interface Forecast {
  /** What the whole month will have used, if the rest of it is like the last days. */
  units: number;
  /** How many whole days the forecast is made from. */
  fromDays: number;
  /** The day on which the units run out, or null when they last until the month ends. */
  runsOutOn: string | null;
}

/** A week has each weekday once, so neither weekends nor Mondays count too much. */
const daysOfPace = 7;

/**
 * Forecasts the month's use from the mean of the last seven whole days, also of the last month. Today counts as whole
 * when it already has more than that.
 * @param days the use per day up to today, at least of the last week
 * @param used what the month has used until now
 * @param available what the account may use of this month in all: the quota and the prepaid units
 * @returns null while no whole day was counted
 */
export function forecastMonth(
  days: readonly DayUse[],
  { used, available, today, lastDay }: { used: number; available: number; today: string; lastDay: string },
): Forecast | null {
  const whole = days.filter(({ day }) => day < today).slice(-daysOfPace);
  if (whole.length === 0) return null;
  const pace = whole.reduce((sum, { units }) => sum + units, 0) / whole.length;
  const usedToday = days.find(({ day }) => day === today)?.units ?? 0;
  const restOfToday = Math.max(0, pace - usedToday);
  const left = toDayNumber(lastDay) - toDayNumber(today);
  const units = Math.round(used + restOfToday + pace * left);
  return { units, fromDays: whole.length, runsOutOn: runsOut() };

  function runsOut(): string | null {
    if (units <= available) return null;
    if (used + restOfToday >= available) return today;
    return toDate(toDayNumber(today) + Math.ceil((available - used - restOfToday) / pace));
  }
}
