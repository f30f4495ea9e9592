import type { LargeFormat } from '../module.ts';
import { keyAt, noKey } from '../ruc-key.ts';
import { decodeWindows1252, encodeWindows1252 } from '../windows-1252.ts';

/**
 * The daily register's text: one header line, then one line per RUC, 15 cells each closed by a pipe, LF (or CR LF),
 * Windows-1252, no quoting.
 */
export const header =
  'RUC|NOMBRE O RAZÓN SOCIAL|ESTADO DEL CONTRIBUYENTE|CONDICIÓN DE DOMICILIO|UBIGEO|TIPO DE VÍA|NOMBRE DE VÍA|' +
  'CÓDIGO DE ZONA|TIPO DE ZONA|NÚMERO|INTERIOR|LOTE|DEPARTAMENTO|MANZANA|KILÓMETRO|';

export const padronReducidoFormat: LargeFormat = {
  size: 'large',
  cells: 15,
  emptyMarkers: ['', '-', '--', '----', '-.-'],
  problemOfHeader,
};

/**
 * Null when the first line is the known header, else what is wrong with it. Never quotes the line: where the header is
 * missing, it is a person's row.
 */
export function problemOfHeader(line: Uint8Array): string | null {
  const expected = encodeWindows1252(header);
  if (Buffer.compare(line, expected) === 0) return null;
  if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) return 'it begins with a UTF-8 mark';
  if (Buffer.compare(line, Buffer.from(header, 'utf8')) === 0) return 'it is written in UTF-8 instead of Windows-1252';
  if (keyAt(line, 0, line.length) !== noKey) return 'the first line is a row';
  const found = decodeWindows1252(line, 0, line.length).split('|').slice(0, -1);
  const names = header.split('|').slice(0, -1);
  if (found.length !== names.length) return `it has ${found.length} columns, expected ${names.length}`;
  const differs = names.findIndex((name, column) => found[column] !== name);
  return `column ${differs + 1} is not called ${names[differs]}`;
}
