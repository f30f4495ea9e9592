import type { LargeFormat, RegisterModule } from './module.ts';
import { cellsPerRow, periodOf, readHeader, rewriteLines } from './padron-mensual-rewrite.ts';

export const padronMensualFormat: LargeFormat = {
  size: 'large',
  cells: cellsPerRow,
  // `0` is not in this list, because in the column of the number of workers it is a value.
  emptyMarkers: ['', '-', 'NO DISPONIBLE'],
  problemOfHeader(line) {
    const header = readHeader(line);
    return 'problem' in header ? header.problem : null;
  },
  canonical: rewriteLines,
};

/**
 * Returns the first day (YYYY-MM-DD) of the month in the first valid PERIODO_PUBLICACION, or null when there is none.
 * The last line is skipped, because `start` may end in the middle of the line.
 */
function dateOfText(start: Buffer): string | null {
  const lines = start.toString('latin1').split(/\r?\n/).slice(0, -1);
  const [first, ...rows] = lines.map((line) => Buffer.from(line, 'latin1'));
  const header = first === undefined ? null : readHeader(first);
  if (header === null || 'problem' in header) return null;
  for (const row of rows) {
    const period = periodOf(row, header.delimiter);
    if (period !== null) return `${period.slice(0, 4)}-${period.slice(4)}-01`;
  }
  return null;
}

/** SUNAT's monthly open data on the national portal: some taxpayers, with columns that the daily register lacks. */
export const padronMensualModule: RegisterModule = {
  register: 'padron_mensual',
  source: {
    url: 'https://www.datosabiertos.gob.pe/sites/default/files/PadronRUC_{AAAAMM}.zip',
    pageUrl: null,
    // The portal labels the file csv, but its bytes are a zip.
    container: {
      kind: 'zip',
      entry: /\.csv$/i,
      name: /^PadronRUC_\d{6}\.csv$/i,
      start: /^(\u00ef\u00bb\u00bf)?\s*RUC\s*[|,]/i,
    },
    date: { from: 'text', read: dateOfText },
  },
  format: padronMensualFormat,
};
