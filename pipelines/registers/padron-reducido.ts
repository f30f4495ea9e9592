import { startOfLimaDay } from '../../schemas/lima-time.ts';
import type { LargeFormat, RegisterModule, SourceDate } from './module.ts';
import { keyAt, noKey } from './ruc-key.ts';
import { decodeWindows1252, encodeWindows1252 } from './windows-1252.ts';
import { writtenDay } from './written-day.ts';

/**
 * The header line of the daily register's text. Each further line is a RUC with 15 cells, without quoting. A pipe ends
 * each cell, and LF or CR LF ends each line. The encoding is Windows-1252.
 */
export const header =
  'RUC|NOMBRE O RAZÓN SOCIAL|ESTADO DEL CONTRIBUYENTE|CONDICIÓN DE DOMICILIO|UBIGEO|TIPO DE VÍA|NOMBRE DE VÍA|' +
  'CÓDIGO DE ZONA|TIPO DE ZONA|NÚMERO|INTERIOR|LOTE|DEPARTAMENTO|MANZANA|KILÓMETRO|';

const padronReducidoFormat: LargeFormat = {
  size: 'large',
  cells: 15,
  emptyMarkers: ['', '-', '--', '----', '-.-'],
  problemOfHeader,
};

/**
 * Returns what is wrong with the first line, or null when the first line is the known header. The answer never quotes
 * the line, because a file without a header begins with a person's row.
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

/** The daily register of every taxpayer. The file itself does not contain the date of its data. */
export const padronReducidoModule: RegisterModule = {
  register: 'padron_reducido',
  source: {
    url: 'https://www2.sunat.gob.pe/padron_reducido_ruc.zip',
    pageUrl: 'https://www.sunat.gob.pe/descargaPRR/mrc137_padron_reducido.html',
    container: {
      kind: 'zip',
      entry: /\.txt$/i,
      name: /^padron_reducido_ruc\.txt$/i,
      start: /^(\u00ef\u00bb\u00bf)?RUC\|NOMBRE/i,
    },
    date: { from: 'last_modified', orPage: dateFromLandingPage },
  },
  format: padronReducidoFormat,
};

const heading = /<div[^>]*class\s*=\s*["'][^"']*\btitulo\b[^"']*["'][^>]*>([\s\S]*?)<\/div>/gi;
const writtenDate = /\b\d{2}\/\d{2}\/\d{4}\b/;

/**
 * Returns the date in the landing page's heading (dd/mm/yyyy inside div.titulo), or null when it has no valid date. It
 * is used only when the download had no `Last-Modified`. The start of that day in Lima is then the time of publication.
 */
export function dateFromLandingPage(html: string): SourceDate | null {
  for (const [, inside] of html.matchAll(heading)) {
    const [written = ''] = writtenDate.exec((inside ?? '').replace(/<[^>]*>/g, ' ')) ?? [];
    const day = writtenDay(written);
    if (day !== null) return { publishedAt: startOfLimaDay(day), fechaDato: day };
  }
  return null;
}
