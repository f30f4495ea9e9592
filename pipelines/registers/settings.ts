import { z } from 'zod';
import { limaDay } from '../../schemas/lima-time.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { RegisterSource } from './module.ts';
import { registerModules } from './modules.ts';

/** Each register's source with the addresses that this installation uses. By default they are the official ones. */
export type Sources = Readonly<Record<RegisterName, RegisterSource>>;

type UrlSettings = { [Name in RegisterName as `SOURCE_${Uppercase<Name>}_URL`]: string };
/** Only registers whose date may be read from a web page (`pageUrl` in module.ts) have this setting. */
type PageSettings = { [Name in RegisterName as `SOURCE_${Uppercase<Name>}_PAGE_URL`]?: string };
export type SourceSettings = UrlSettings & PageSettings & { SOURCE_USER_AGENT: string };

const urlSetting = (register: RegisterName) => `SOURCE_${register.toUpperCase()}_URL` as keyof UrlSettings;
const pageSetting = (register: RegisterName) => `SOURCE_${register.toUpperCase()}_PAGE_URL` as keyof PageSettings;
const address = (official: string) => z.url({ protocol: /^https?$/ }).default(official);

/** Some official sites refuse (403, 418) a user agent that does not begin like a browser's. Ours begins so. */
const defaultUserAgent = 'Mozilla/5.0 (compatible; Padron/1.0)';

/**
 * Each register has the setting SOURCE_<REGISTER>_URL, in which `{AAAAMM}` stands for a month. A register whose source
 * has a page also has SOURCE_<REGISTER>_PAGE_URL.
 */
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

const monthMark = '{AAAAMM}';
/** A monthly file may be published late, so this many earlier months are tried too. */
const monthsBack = 3;

/**
 * Returns the addresses where a file's newest version may be. A `url` without `{AAAAMM}` is the only address. A `url`
 * with `{AAAAMM}` gives this month's address (in Lima), then one for each of the `monthsBack` months before.
 */
export function addressesOf(url: string, now: Date): string[] {
  if (!isByMonth(url)) return [url];
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
