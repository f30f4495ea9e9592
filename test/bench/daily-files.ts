import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type PublishedDay, writeDay, writeMonthlyRegister } from '../../deploy/local/demo/register/day.ts';
import type { Month } from '../../deploy/local/demo/register/monthly.ts';
import { populationOf } from '../../deploy/local/demo/register/population.ts';
import { monthBefore } from '../../deploy/local/demo/two-days.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { cachedPublication, seed } from './diff.ts';

const monthlyFolder = '.local/bench/padron-mensual';
const dayMs = 86_400_000;
const hoursSinceNewest = 6 * 3_600_000;
/**
 * The share of a month's rows that change in the next month, which is what thirty days change in the daily register.
 */
const changedInMonth = 0.05;

/**
 * Writes days 1 to `count` of all registers, a day apart, the newest some hours old. Day 1 has one month of the monthly
 * register, the last day the next. The two large files are kept between runs; the small ones contain the day and are
 * rewritten.
 */
export async function benchDays(rows: number, count: number, directory: string): Promise<PublishedDay[]> {
  const population = populationOf(rows, seed);
  const newest = Date.now() - hoursSinceNewest;
  const period = limaDay(new Date(newest)).slice(0, 7);
  const changed = Math.round(rows * changedInMonth);
  const days: PublishedDay[] = [];
  for (let day = 1; day <= count; day += 1) {
    const isFirst = day === 1;
    const month: Month | null =
      isFirst || day === count
        ? { number: isFirst ? 1 : 2, period: (isFirst ? monthBefore(period) : period).replace('-', ''), day, changed }
        : null;
    const lastModified = new Date(Math.floor((newest - (count - day) * dayMs) / 1000) * 1000);
    const daily = await cachedPublication(rows, day, 'kept');
    const monthly = month === null ? {} : { monthly: await cachedMonth(rows, month) };
    days.push(await writeDay({ directory, population, day, lastModified, month, daily, ...monthly }));
  }
  return days;
}

async function cachedMonth(rows: number, month: Month): Promise<string> {
  mkdirSync(monthlyFolder, { recursive: true });
  const name = `v2-${rows}-month${month.number}-day${month.day}-`;
  const file = join(monthlyFolder, `${name}${month.period}.zip`);
  if (existsSync(file)) return file;
  for (const old of readdirSync(monthlyFolder).filter((one) => one.startsWith(name))) rmSync(join(monthlyFolder, old));
  const started = performance.now();
  // The file is renamed once it is whole, so a generator that dies leaves none that looks finished.
  await writeMonthlyRegister(`${file}.part`, populationOf(rows, seed), month);
  renameSync(`${file}.part`, file);
  console.log(`generated month ${month.period} in ${((performance.now() - started) / 1000).toFixed(0)} s`);
  return file;
}
