import { z } from 'zod';
import { limaDay } from '../../schemas/lima-time.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { RegisterSource } from './module.ts';
import { registerModules } from './modules.ts';

/** Addresses as an installation has them; the official ones where it says nothing. */
export type Sources = Readonly<Record<RegisterName, RegisterSource>>;

type UrlSettings = { [Name in RegisterName as `SOURCE_${Uppercase<Name>}_URL`]: string };
/** Only registers whose source has a page know this one. */
type PageSettings = { [Name in RegisterName as `SOURCE_${Uppercase<Name>}_PAGE_URL`]?: string };
export type SourceSettings = UrlSettings & PageSettings & { SOURCE_USER_AGENT: string };

const urlSetting = (register: RegisterName) => `SOURCE_${register.toUpperCase()}_URL` as keyof UrlSettings;
const pageSetting = (register: RegisterName) => `SOURCE_${register.toUpperCase()}_PAGE_URL` as keyof PageSettings;
const address = (official: string) => z.url({ protocol: /^https?$/ }).default(official);

/**
 * Some official sites answer 403 or 418 to a user agent that does not begin as a browser's. This one does, and still says
 * what it is.
 */
const defaultUserAgent = 'Mozilla/5.0 (compatible; Padron/1.0)';

/** SOURCE_<REGISTER>_URL and, where its source has a page, SOURCE_<REGISTER>_PAGE_URL; `{AAAAMM}` stands for a month. */
export const sourceBlock = z.object({
  ...(Object.fromEntries(
    Object.values(registerModules).flatMap(({ register, source }) => [
      [urlSetting(register), address(source.url)],
      ...(source.pageUrl === null ? [] : [[pageSetting(register), address(source.pageUrl)]]),
    ]),
  ) as Record<keyof UrlSettings, z.ZodType<string>> & Record<keyof PageSettings, z.ZodType<string | undefined>>),
  SOURCE_USER_AGENT: z
    .string()
    .regex(/^[\x20-\x7e]+$/, 'visible ASCII characters')
    .default(defaultUserAgent),
});

export function sourcesOf(settings: SourceSettings): Sources {
  return Object.fromEntries(
    Object.values(registerModules).map(({ register, source }) => [
      register,
      { ...source, url: settings[urlSetting(register)], pageUrl: settings[pageSetting(register)] ?? null },
    ]),
  ) as unknown as Sources;
}

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
