import { limaDay } from '../../../schemas/lima-time.ts';
import { cellsOf, linesOf } from '../text-lines.ts';
import { writtenDay } from '../written-day.ts';

/**
 * The cut-off date (FECHA_CORTE) of the first row, YYYY-MM-DD: the day of the data of a file of bars. Null when the file has
 * no such column or no row, and when the date is unreadable or has not come yet.
 */
export function cutDate(start: Buffer, now: Date): string | null {
  const [header, row] = linesOf(start);
  if (header === undefined || row === undefined || cellsOf(header.bytes).cells[0] !== 'FECHA_CORTE') return null;
  const day = writtenDay(cellsOf(row.bytes).cells[0]!.trim());
  return day === null || day > limaDay(now) ? null : day;
}
