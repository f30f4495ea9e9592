/** The cells of the daily register that make up an address. Their names are from schemas/registers.ts. */
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
 * Returns the fiscal address in one line: street, number, interior, flat, block, lot, kilometre, zone. Returns null
 * when all cells are empty. Nothing is added but labels such as `NRO.`. Names of places are left out, because answers
 * have other fields for them. `SN` and `S/N` (no number) stay, because the register writes them.
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

/** Returns '' for a cell without a letter or digit: the register writes `-`, `--`, `----` and `-.-` in empty cells. */
export function clean(cell: string): string {
  return /[\p{L}\p{N}]/u.test(cell) ? cell.trim().replace(/\s+/g, ' ') : '';
}
