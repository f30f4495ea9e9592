import { limaDay } from '../../schemas/lima-time.ts';
import { idKindOf } from '../../schemas/ruc.ts';
import type { Sanction } from '../../schemas/sanctions.ts';
import { writtenDay } from './dating.ts';
import { knownHeader } from './header.ts';
import type { ListedReason, SmallFormat, SmallText } from './module.ts';
import type { BarLayout } from './supplier-bars-layouts.ts';
import { cellsOf, linesOf } from './windows-1252.ts';

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

/** Longest id of a supplier, in UTF-8: it is a key in Kafka. */
const maxIdBytes = 40;

/**
 * The procurement agency's files of bars (CONOSCE): a header line and one line per sanction, cells between pipes, CR LF, Windows-1252, no
 * quoting. They are history, not what is in force; a supplier has as many lines as sanctions and becomes one row, whose cell
 * `sanciones` lists them in an order of their own.
 */
export function supplierBarsFormat(layouts: readonly BarLayout[]): SmallFormat {
  return { size: 'small', read: (text) => readBars(text, layouts) };
}

interface Supplier {
  /** Line of its last sanction. */
  line: number;
  /** By their JSON, so that a row that is there twice counts once. */
  sanctions: Map<string, Sanction>;
}

/** @throws CompareError `header_changed`, `empty` */
function readBars(text: Buffer, layouts: readonly BarLayout[]): SmallText {
  const lines = linesOf(text);
  const layout = knownHeader(lines.next().value, layouts);
  const suppliers = new Map<string, Supplier>();
  const listed: SmallText['listed'][number][] = [];
  let read = 0;
  let cut: string | null = null;
  for (const { line, bytes } of lines) {
    read += 1;
    const list = (reason: ListedReason, key: string | null) => listed.push({ line, reason, key, raw: bytes });
    const row = cellsOf(bytes);
    const cells = row.cells.map(trimmed);
    const id = cells[layout.id] ?? '';
    const isId = id !== '' && Buffer.byteLength(id, 'utf8') <= maxIdBytes;
    if (!isId || cells.length !== layout.names.length) {
      list(cells.length === layout.names.length ? 'id_format' : 'cell_count', isId ? id : null);
      continue;
    }
    if (row.hadControls) list('control_byte', null);
    if (layout.cut !== null) {
      cut ??= cells[layout.cut]!;
      if (cells[layout.cut] !== cut) list('other_cut', null);
    }
    if (!addSanction(suppliers, id, line, layout.sanctionOf(cells))) list('duplicate', null);
  }
  const rows = new Map([...suppliers].map(([id, supplier]) => [id, rowOf(id, supplier)]));
  return { rows, lines: read, listed };
}

/** Padding around a cell, and the no-break spaces of some texts, are no part of what they say. */
function trimmed(cell: string): string {
  return cell.replaceAll('\u00a0', ' ').trim();
}

/** False when the supplier has the very same sanction already. One that differs in its motive alone is another. */
function addSanction(suppliers: Map<string, Supplier>, id: string, line: number, sanction: Sanction): boolean {
  const supplier = suppliers.get(id) ?? { line, sanctions: new Map<string, Sanction>() };
  suppliers.set(id, supplier);
  const json = JSON.stringify(sanction);
  if (supplier.sanctions.has(json)) return false;
  supplier.sanctions.set(json, sanction);
  supplier.line = line;
  return true;
}

/** The same sanctions in another order of lines are the same row. */
function rowOf(id: string, { line, sanctions }: Supplier): { cells: readonly string[]; line: number } {
  const ordered = [...sanctions].map(([json, sanction]) => ({ json, order: orderOf(sanction, json) }));
  ordered.sort((one, other) => compareTexts(one.order, other.order));
  return { cells: [idKindOf(id), `[${ordered.map(({ json }) => json).join(',')}]`], line };
}

function orderOf({ desde, hasta, resolucion, motivo, organo }: Sanction, json: string): string[] {
  return [desde ?? '', hasta ?? '', resolucion, motivo ?? organo ?? '', json];
}

function compareTexts(one: readonly string[], other: readonly string[]): number {
  const at = one.findIndex((text, index) => text !== other[index]);
  if (at < 0) return 0;
  return one[at]! < other[at]! ? -1 : 1;
}
