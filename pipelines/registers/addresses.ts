import { limaDay } from '../../schemas/lima-time.ts';

/** Stands for a month in an address that changes each month. */
const monthMark = '{AAAAMM}';
/** A monthly file may come late; older ones than this are not looked for. */
const monthsBack = 3;

/** Where the newest version may be, newest first: one address, or this month's (in Lima) and some before it. */
export function addressesOf(url: string, now: Date): string[] {
  if (!url.includes(monthMark)) return [url];
  const [year, month] = limaDay(now).split('-').map(Number);
  return Array.from({ length: monthsBack + 1 }, (_, back) => {
    const at = new Date(Date.UTC(year!, month! - 1 - back, 1));
    const text = `${at.getUTCFullYear()}${String(at.getUTCMonth() + 1).padStart(2, '0')}`;
    return url.replaceAll(monthMark, text);
  });
}

export function isByMonth(url: string): boolean {
  return url.includes(monthMark);
}
