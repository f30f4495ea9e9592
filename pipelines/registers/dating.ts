import { limaDay, startOfLimaDay } from '../../schemas/lima-time.ts';
import { dateFromLastModified, type FileTimes, type RegisterSource, type SourceDate } from './module.ts';
import { readPage, type SiteAccess } from './site.ts';

/** A date, or the reason why there is none. An operator must then supply the date. */
export type Dating = SourceDate | { undated: string };

/** Most bytes that are read of a landing page. Real pages have a few kilobytes. */
const maxPageBytes = 1_000_000;

/**
 * Finds the time at which a fetched file was published, and the day of its data. `source.date` says where this day is
 * read. The time of publication orders a register's publications. It is `Last-Modified` if the file has a possible one
 * (dateFromLastModified), else the start of the data's day in Lima. `Last-Modified` comes first even when a page gives
 * the day of the data. Otherwise an old copy of the file would count as new as soon as the page shows a later day.
 * @param file times of the answer that carried the bytes, and the beginning of the text if it can be read
 * @throws SourceError retryable, when the page is needed and its site does not answer
 */
export async function dateOf(
  access: SiteAccess,
  source: RegisterSource,
  file: FileTimes & { textStart: Buffer | null },
  signal: AbortSignal,
): Promise<Dating> {
  const now = new Date();
  const modified = dateFromLastModified(file, now);
  const { date } = source;
  if (date.from === 'text') {
    const day = file.textStart === null ? null : date.read(file.textStart);
    if (day === null) return { undated: 'the text does not say the day of its data' };
    return notAhead({ publishedAt: modified?.publishedAt ?? startOfLimaDay(day), fechaDato: day }, now);
  }
  if (date.from === 'last_modified' && modified !== null) return modified;
  const onPage = await dateOnPage(access, source, signal);
  if ('undated' in onPage) return onPage;
  return { ...onPage, publishedAt: modified?.publishedAt ?? onPage.publishedAt };
}

/** The date on the register's own page. @throws SourceError retryable, when the page's site does not answer */
export async function dateOnPage(access: SiteAccess, source: RegisterSource, signal: AbortSignal): Promise<Dating> {
  const { date, pageUrl } = source;
  if (date.from === 'text' || pageUrl === null) return { undated: 'the register has no page that says its day' };
  const html = await readPage(access, pageUrl, maxPageBytes, signal);
  if (html === null) return { undated: 'its page is not there (404)' };
  const found =
    date.from === 'page'
      ? date.read(html)
      : (date.orPage(html) ?? 'neither the download (Last-Modified) nor the landing page says when it was published');
  return typeof found === 'string' ? { undated: found } : notAhead(found, new Date());
}

function notAhead(date: SourceDate, now: Date): Dating {
  const today = limaDay(now);
  return date.fechaDato <= today ? date : { undated: `its day ${date.fechaDato} has not come (today is ${today})` };
}
