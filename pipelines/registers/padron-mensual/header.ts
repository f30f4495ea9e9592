/**
 * The monthly open data: one header line, then one line per RUC, 16 cells, no quoting. Delimiter (pipe or comma) and encoding
 * (Windows-1252 or UTF-8) change between months.
 */
export const columnNames = [
  'RUC',
  'Estado',
  'Condicion',
  'Tipo',
  'Actividad_Economica_CIIU_revision3_Principal',
  'Actividad_Economica_CIIU_revision3_Secundaria',
  'Actividad_Economica_CIIU_revision4_Principal',
  'NroTrab',
  'TipoFacturacion',
  'TipoContabilidad',
  'ComercioExterior',
  'UBIGEO',
  'Departamento',
  'Provincia',
  'Distrito',
  'PERIODO_PUBLICACION',
] as const;
/** All but the last, which is the date of the whole file. */
export const cellsPerRow = columnNames.length - 1;

export type Delimiter = '|' | ',';
const byteOrderMark = /^\u00ef\u00bb\u00bf/;
const comparedNames = columnNames.map(comparedName);

/** Sister files have been seen with a blank before a name, and with other capitals. */
function comparedName(name: string): string {
  return name.trim().toLowerCase();
}

/** What separates the cells, or what is wrong with the header; never quotes the line: it may be a person's row. */
export function readHeader(line: Uint8Array): { delimiter: Delimiter } | { problem: string } {
  const text = latin1(line).replace(byteOrderMark, '');
  if (/^\d{11}[|,]/.test(text)) return { problem: 'the first line is a row' };
  const delimiter = text.includes('|') ? '|' : ',';
  const found = text.split(delimiter).map(comparedName);
  if (found.length !== columnNames.length) {
    return { problem: `it has ${found.length} columns, expected ${columnNames.length}` };
  }
  const differs = comparedNames.findIndex((name, column) => found[column] !== name);
  return differs < 0 ? { delimiter } : { problem: `column ${differs + 1} is not called ${columnNames[differs]}` };
}

const period = /^\d{4}(0[1-9]|1[0-2])$/;

/** AAAAMM in the last cell of a whole row, else null. The period of a file is that of its first row that has one. */
export function periodOf(line: Uint8Array, delimiter: Delimiter): string | null {
  const cells = latin1(line).split(delimiter);
  const last = cells.at(-1)!;
  const isRow = cells.length === columnNames.length && !cells.some((cell) => cell.includes('|'));
  return isRow && period.test(last) ? last : null;
}

function latin1(line: Uint8Array): string {
  return Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('latin1');
}
