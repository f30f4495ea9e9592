/** The daily register's cells that make up an address, named as in schemas/registers.ts. */
export interface AddressCells {
  tipo_via: string;
  nombre_via: string;
  tipo_zona: string;
  nombre_zona: string;
  numero: string;
  interior: string;
  lote: string;
  dpto: string;
  manzana: string;
  kilometro: string;
}

/**
 * The fiscal address in one line: street, number, interior, flat, block, lot, kilometre, zone; null when all are empty.
 * Nothing is added that the register does not write. Names of places are left out, since they have fields of their own.
 * `SN` and `S/N` (no number) are the register's own words and stay.
 */
export function composeAddress(cells: AddressCells): string | null {
  const parts = [
    clean(cells.tipo_via),
    clean(cells.nombre_via),
    labelled('NRO.', cells.numero),
    labelled('INT.', cells.interior),
    labelled('DPTO.', cells.dpto),
    labelled('MZA.', cells.manzana),
    labelled('LOTE', cells.lote),
    labelled('KM.', cells.kilometro),
    clean(cells.tipo_zona),
    clean(cells.nombre_zona),
  ];
  const address = parts.filter((part) => part !== '').join(' ');
  return address === '' ? null : address;
}

function labelled(label: string, cell: string): string {
  const text = clean(cell);
  return text === '' ? '' : `${label} ${text}`;
}

/** A cell without a letter or a digit is empty: the register writes `-`, `--`, `----` and `-.-` for that. */
export function clean(cell: string): string {
  return /[\p{L}\p{N}]/u.test(cell) ? cell.trim().replace(/\s+/g, ' ') : '';
}
