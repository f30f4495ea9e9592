import { limaDay, startOfLimaDay } from '../../../schemas/lima-time.ts';
import type { SourceDate } from '../source-date.ts';
import { writtenDay } from '../written-day.ts';

/** Words that only the page of one list uses; without accents, since a page may come in either encoding. */
const ownWords = {
  agentes_retencion: /agentes? de retenci/,
  buenos_contribuyentes: /buenos? contribuyentes?/,
} as const;
const updated = /actualizado\s+al\s*:?\s*(\d{2}\/\d{2}\/\d{4})/;

/**
 * The day at which a list's own page says it was last updated ("Actualizado al : dd/mm/yyyy"), or in words why it says
 * none. A page that speaks of the other list and not of its own is refused: the two addresses are known to get swapped,
 * and a list with the other's date looks fresh when it is not.
 */
export function pageDate(html: string, list: keyof typeof ownWords, now: Date): SourceDate | string {
  const text = html
    .replace(/<[^>]*>/g, ' ')
    .replace(/&nbsp;|&#160;|\u00a0/gi, ' ')
    .replace(/\s+/g, ' ')
    .toLowerCase();
  const named = (Object.keys(ownWords) as (keyof typeof ownWords)[]).filter((one) => ownWords[one].test(text));
  if (named.length > 0 && !named.includes(list)) return `the page is that of ${named.join(' and ')}, not of ${list}`;
  const written = updated.exec(text)?.[1];
  if (written === undefined) return 'the page does not say "Actualizado al" with a date';
  const day = writtenDay(written);
  if (day === null) return `the page says ${written}, which is no day`;
  if (day > limaDay(now)) return `the page says ${day}, which has not come yet`;
  return { publishedAt: startOfLimaDay(day), fechaDato: day };
}
