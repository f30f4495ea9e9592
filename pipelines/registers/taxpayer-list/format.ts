import { checkDigit, checkRuc, rucPrefixes } from '../../../schemas/ruc.ts';
import { knownHeader } from '../header.ts';
import type { ListedReason, SmallFormat, SmallText } from '../module.ts';
import { cellsOf, linesOf } from '../text-lines.ts';
import { isNoDate, writtenDay } from '../written-day.ts';

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
