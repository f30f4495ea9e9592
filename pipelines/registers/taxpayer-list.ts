import { limaDay, startOfLimaDay } from '../../schemas/lima-time.ts';
import { checkDigit, checkRuc, rucPrefixes } from '../../schemas/ruc.ts';
import { knownHeader } from './header.ts';
import type { ListedReason, SmallFormat, SmallText, SourceDate } from './module.ts';
import { cellsOf, linesOf } from './windows-1252.ts';
import { isNoDate, writtenDay } from './written-day.ts';

/**
 * The header of SUNAT's lists of taxpayers. Each further line is a RUC with four cells, each ended by a pipe. Lines end
 * with CR alone. The encoding is Windows-1252, without quoting. SUNAT cuts names at 100 characters.
 */
export const listLayout = { names: ['Ruc', 'Nombre/Razon', 'A partir del', 'Resolucion', ''] };

export const taxpayerListFormat: SmallFormat = { size: 'small', read: readTaxpayerList };

/** @throws CompareError `empty` when the text has no line, `header_changed` when its header is not the known one */
function readTaxpayerList(text: Buffer): SmallText {
  const lines = linesOf(text);
  knownHeader(lines.next().value, [listLayout]);
  const rows = new Map<string, { cells: readonly string[]; line: number }>();
  const listed: SmallText['listed'][number][] = [];
  let read = 0;
  for (const { line, bytes } of lines) {
    read += 1;
    const list = (reason: ListedReason, key: string | null) => listed.push({ line, reason, key, raw: bytes });
    const { cells, hadControls } = cellsOf(bytes);
    const ruc = cells[0]!;
    const problem = problemOfLine(cells);
    if (problem !== null) {
      list(problem, namedRuc(ruc));
      continue;
    }
    if (hadControls) list('control_byte', null);
    if (rows.has(ruc)) list('duplicate', null);
    const [, name, since, resolution] = cells as [string, string, string, string];
    rows.set(ruc, { cells: [name, startDay(since), resolution], line });
  }
  return { rows, lines: read, listed };
}

/**
 * Returns why a line is rejected, or null when the line is a valid row. The daily register's reject file uses the same
 * reasons.
 */
function problemOfLine(cells: readonly string[]): ListedReason | null {
  const check = checkRuc(cells[0]!);
  if (!check.ok)
    return check.problem === 'prefix' || check.problem === 'check_digit' ? `ruc_${check.problem}` : 'ruc_format';
  return cells.length === listLayout.names.length && cells.at(-1) === '' ? null : 'cell_count';
}

/**
 * Returns the RUC of a rejected line with its check digit corrected, or null when the line has no RUC. The row that the
 * last edition has for this RUC then stays. Otherwise the RUC would be reported as removed.
 */
function namedRuc(text: string): string | null {
  const ten = text.slice(0, 10);
  if (!/^\d{11}$/.test(text) || !(rucPrefixes as readonly string[]).includes(text.slice(0, 2))) return null;
  return `${ten}${checkDigit(ten)}`;
}

/**
 * Returns the cell's date as YYYY-MM-DD, or '' when the cell has no date. Returns the cell's own text when its date is
 * not valid. The date may be later than the publication.
 */
function startDay(text: string): string {
  return isNoDate(text) ? '' : (writtenDay(text) ?? text);
}

/** For each list, words that only its own page uses. They have no accents, because a page's encoding is unknown. */
const ownWords = {
  agentes_retencion: /agentes? de retenci/,
  buenos_contribuyentes: /buenos? contribuyentes?/,
} as const;
const updated = /actualizado\s+al\s*:?\s*(\d{2}\/\d{2}\/\d{4})/;

/**
 * Returns the day of a list's last update from its own page ("Actualizado al : dd/mm/yyyy"), or why there is none. A
 * page that names only the other list is refused, because the site has swapped the two pages before. Otherwise a list
 * would get the other list's date, and could look fresh when it is not.
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
