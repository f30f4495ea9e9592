import { limaDay, startOfLimaDay } from '../../schemas/lima-time.ts';
import { checkDigit, checkRuc, rucPrefixes } from '../../schemas/ruc.ts';
import { isNoDate, writtenDay } from './dating.ts';
import { knownHeader } from './header.ts';
import type { ListedReason, SmallFormat, SmallText, SourceDate } from './module.ts';
import { cellsOf, linesOf } from './windows-1252.ts';

/**
 * SUNAT's lists of taxpayers: a header line and one line per RUC, four cells each closed by a pipe, ended by CR alone,
 * Windows-1252, no quoting, names cut at 100 characters.
 */
export const listLayout = { names: ['Ruc', 'Nombre/Razon', 'A partir del', 'Resolucion', ''] };

export const taxpayerListFormat: SmallFormat = { size: 'small', read: readTaxpayerList };

/** @throws CompareError `header_changed`, `empty` */
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

/** An extra pipe or a wrong digit makes a line no row; the same names as in the daily register's reject file. */
function problemOfLine(cells: readonly string[]): ListedReason | null {
  const check = checkRuc(cells[0]!);
  if (!check.ok)
    return check.problem === 'prefix' || check.problem === 'check_digit' ? `ruc_${check.problem}` : 'ruc_format';
  return cells.length === listLayout.names.length && cells.at(-1) === '' ? null : 'cell_count';
}

/** Ten digits name a RUC even when the eleventh is wrong: better to keep a row than to announce a false end. */
function namedRuc(text: string): string | null {
  const ten = text.slice(0, 10);
  if (!/^\d{11}$/.test(text) || !(rucPrefixes as readonly string[]).includes(text.slice(0, 2))) return null;
  return `${ten}${checkDigit(ten)}`;
}

/** YYYY-MM-DD, which may lie after the publication; '' for no date; any other text as written. */
function startDay(text: string): string {
  return isNoDate(text) ? '' : (writtenDay(text) ?? text);
}

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
