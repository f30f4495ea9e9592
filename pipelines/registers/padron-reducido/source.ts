import { limaDay } from '../../../schemas/lima-time.ts';
import type { SourceDate } from '../source-date.ts';

const heading = /<div[^>]*class\s*=\s*["'][^"']*\btitulo\b[^"']*["'][^>]*>([\s\S]*?)<\/div>/gi;
const writtenDate = /\b(\d{2})\/(\d{2})\/(\d{4})\b/;

/**
 * The date in the landing page's heading (dd/mm/yyyy inside div.titulo), used only when the download itself had no
 * `Last-Modified`. Null when there is none, or it is no day of the calendar. The time is the start of that day in Lima.
 */
export function dateFromLandingPage(html: string): SourceDate | null {
  for (const [, inside] of html.matchAll(heading)) {
    const found = writtenDate.exec((inside ?? '').replace(/<[^>]*>/g, ' '));
    if (found === null) continue;
    const day = `${found[3]}-${found[2]}-${found[1]}`;
    const publishedAt = new Date(`${day}T00:00:00-05:00`);
    if (Number.isNaN(publishedAt.getTime()) || limaDay(publishedAt) !== day) continue;
    return { publishedAt, fechaDato: day };
  }
  return null;
}
