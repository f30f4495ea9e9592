import { limaDay } from '../../schemas/lima-time.ts';

/** When a publication was published, and the day of its data (YYYY-MM-DD, in Lima). */
export interface SourceDate {
  publishedAt: Date;
  fechaDato: string;
}

/** A site's clock may run ahead of ours by so much; a date further ahead is no date. */
export const clockToleranceMs = 24 * 60 * 60 * 1000;
const httpDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The date of an HTTP `Last-Modified` (RFC 9110 5.6.7). Null when absent, malformed or in the future. */
export function dateFromLastModified(lastModified: string | null, now: Date): SourceDate | null {
  if (lastModified === null || !httpDate.test(lastModified)) return null;
  const publishedAt = new Date(lastModified);
  if (Number.isNaN(publishedAt.getTime()) || publishedAt.getTime() > now.getTime() + clockToleranceMs) return null;
  return { publishedAt, fechaDato: limaDay(publishedAt) };
}
