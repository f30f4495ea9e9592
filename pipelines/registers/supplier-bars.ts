import { limaDay } from '../../schemas/lima-time.ts';
import { idKindOf } from '../../schemas/ruc.ts';
import type { Sanction } from '../../schemas/sanctions.ts';
import { knownHeader } from './header.ts';
import type { ListedReason, SmallFormat, SmallText } from './module.ts';
import { cellsOf, linesOf } from './windows-1252.ts';
import { isNoDate, writtenDay } from './written-day.ts';

/** A known header of a file that lists barred suppliers, and how to read a row of such a file. */
export interface BarLayout {
  names: readonly string[];
  /** Position of the cell with the supplier's id. */
  id: number;
  /** Position of the cell with the file's cut-off date, which every row repeats; null when the file has none. */
  cut: number | null;
  sanctionOf(cells: readonly string[]): Sanction;
}

/** The file of suppliers barred by the procurement tribunal, with the numbers and the text of the infraction. */
export const tribunalLayout: BarLayout = {
  names:
    'FECHA_CORTE|RUC|NOMBRE_RAZONODENOMINACIONSOCIAL|FECHA_INICIO|FECHA_FIN|NUMERO_RESOLUCION|ID_MOTIVO_INFRACCION|DE_MOTIVO_INFRACCION'.split(
      '|',
    ),
  id: 1,
  cut: 0,
  sanctionOf: ([, , nombre, desde, hasta, resolucion, motivos, motivo]) => ({
    nombre: nombre!,
    desde: dayOrText(desde!),
    hasta: dayOrText(hasta!),
    resolucion: resolucion!,
    // The source writes a list that ends with a comma, such as `214,215,`.
    motivos: motivos!
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== ''),
    motivo: motivo!,
  }),
};

export const judicialLayout: BarLayout = {
  names:
    'FECHA_CORTE|RUC_DNI|NOMBRE_RAZONODENOMINACIONSOCIAL|ORGANO_JURISDICCIONAL|NUMERO_RESOLUCION|FECHA_INICIO|FECHA_FIN'.split(
      '|',
    ),
  id: 1,
  cut: 0,
  sanctionOf: ([, , nombre, organo, resolucion, desde, hasta]) =>
    judicial(nombre!, desde!, hasta!, resolucion!, organo!),
};

/** Another export of the suppliers barred by judges. Its cell `Periodo` is dropped: it repeats both dates in words. */
export const judicialExportLayout: BarLayout = {
  names:
    'RUC/DNI|RazonSocial/Nombre|NumeroResolucion|OrganoJurisdiccional|Periodo|FechaInicioInhabilitacion|FechaFinInhabilitacion'.split(
      '|',
    ),
  id: 0,
  cut: null,
  sanctionOf: ([, nombre, resolucion, organo, , desde, hasta]) =>
    judicial(nombre!, desde!, hasta!, resolucion!, organo!),
};

function judicial(nombre: string, desde: string, hasta: string, resolucion: string, organo: string): Sanction {
  return { nombre, desde: dayOrText(desde), hasta: dayOrText(hasta), resolucion, organo };
}

function dayOrText(text: string): string | null {
  return isNoDate(text) ? null : (writtenDay(text) ?? text);
}

/**
 * Returns the date of a file's data (YYYY-MM-DD): the cut-off date (FECHA_CORTE) of its first row. Null when there is
 * no such column, no row or no valid date, or when the date lies in the future.
 */
export function cutDate(start: Buffer, now: Date): string | null {
  const [header, row] = linesOf(start);
  if (header === undefined || row === undefined || cellsOf(header.bytes).cells[0] !== 'FECHA_CORTE') return null;
  const day = writtenDay(cellsOf(row.bytes).cells[0]!.trim());
  return day === null || day > limaDay(now) ? null : day;
}

/** A supplier's id becomes a Kafka key, so its length in UTF-8 is limited. */
const maxIdBytes = 40;

/**
 * Makes the format of the procurement agency's files of barred suppliers (CONOSCE).
 * - A file has a header line, then one line per sanction, in force or past.
 * - Pipes separate cells, and lines end with CR LF. The encoding is Windows-1252, without quoting.
 * - All sanctions of a supplier become one row. Its cell `sanciones` is sorted: the order of lines does not matter.
 */
export function supplierBarsFormat(layouts: readonly BarLayout[]): SmallFormat {
  return { size: 'small', read: (text) => readBars(text, layouts) };
}

interface Supplier {
  /** Line number of the supplier's last sanction. */
  line: number;
  /** The sanctions, each under its JSON text, so that a repeated line counts once. */
  sanctions: Map<string, Sanction>;
}

/** @throws CompareError `empty` when the text has no line, `header_changed` when its header is not one of `layouts` */
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

/** Removes spaces around a cell. No-break spaces, which some texts contain, become spaces. */
function trimmed(cell: string): string {
  return cell.replaceAll('\u00a0', ' ').trim();
}

/**
 * Returns false when the supplier already has an identical sanction. A sanction with another motive is not identical.
 */
function addSanction(suppliers: Map<string, Supplier>, id: string, line: number, sanction: Sanction): boolean {
  const supplier = suppliers.get(id) ?? { line, sanctions: new Map<string, Sanction>() };
  suppliers.set(id, supplier);
  const json = JSON.stringify(sanction);
  if (supplier.sanctions.has(json)) return false;
  supplier.sanctions.set(json, sanction);
  supplier.line = line;
  return true;
}

/** Sorts the sanctions, so that a file with the same sanctions in another order gives the same row. */
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
