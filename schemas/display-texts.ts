// The daily register cuts `estado` and `condicion` and writes them without accents; it may write accents one day. We
// store them as it writes them. The functions in this file return the full texts, which are shown to people. The full
// texts are from the code table of SUNAT's own services. A text that is not in the table is shown as it is. A cell that
// only marks a missing value has no text to show.

/** Number of characters at which the daily register cuts `estado` and `condicion`. */
const cutAt = 20;

const estados = [
  'ACTIVO',
  'BAJA PROVISIONAL',
  'BAJA PROV. POR OFICIO',
  'SUSPENSIÓN TEMPORAL',
  'ANUL.PROVI.-ACTO ILÍCITO',
  'BAJA DEFINITIVA',
  'BAJA DE OFICIO',
  'BAJA MULT.INSCR. Y OTROS',
  'NÚM. INTERNO IDENTIF.',
  'OTROS OBLIGADOS',
  'INHABILITADO-VENT.ÚNICA',
  'ANULACIÓN - ERROR SUNAT',
  'ANULACIÓN - ACTO ILÍCITO',
] as const;

const condiciones = [
  'HABIDO',
  'NO HABIDO',
  'NO HALLADO',
  'NO HALLADO SE MUDÓ DE DOMICILIO',
  'NO HALLADO FALLECIÓ',
  'NO HALLADO NO EXISTE DOMICILIO',
  'NO HALLADO CERRADO',
  'NO HALLADO NRO.PUERTA NO EXISTE',
  'NO HALLADO DESTINATARIO DESCONOCIDO',
  'NO HALLADO RECHAZADO',
  'NO HALLADO OTROS MOTIVOS',
  'PENDIENTE',
  'NO APLICABLE',
  'NO APLICABLE X TRÁMITE DE REVERSIÓN',
  'POR VERIFICAR',
  'NO EXISTE LA DIRECCIÓN DECLARADA',
  'DOMICILIO CERRADO',
  'NEGATIVA RECEPCIÓN X PERSONA CAPAZ',
  'AUSENCIA DE PERSONA CAPAZ',
  'DEVUELTO',
] as const;

const shownEstados = byStoredText(estados);
const shownCondiciones = byStoredText(condiciones);

/**
 * Returns the `estado` to show: the full text with its accents, or the stored text if the full text is not known. It is
 * null when the register carries no value.
 */
export function displayEstado(stored: string): string | null {
  return displayed(shownEstados, stored);
}

/**
 * Returns the `condicion` to show, or null when the register carries no value. NO HALLADO… is another legal state than
 * NO HABIDO and is never shown as NO HABIDO.
 */
export function displayCondicion(stored: string): string | null {
  return displayed(shownCondiciones, stored);
}

/**
 * Returns the text of a cell in single spaces. Returns '' for a cell without a letter or digit, because the registers
 * write `-`, `--`, `----` and `-.-` where they carry no value.
 */
export function carriedText(cell: string): string {
  // Most cells that carry no value are one of these two.
  if (cell === '' || cell === '-') return '';
  return /[\p{L}\p{N}]/u.test(cell) ? cell.trim().replace(/\s+/g, ' ') : '';
}

/**
 * Returns every text that the register may hold for an `estado` that was shown or typed, with or without accents: each
 * whole and, if the register cuts it, cut. The list is empty for a text such as `-`, because a missing value equals no
 * other value.
 */
export function storedEstados(shown: string): readonly string[] {
  return storedTexts(shown, displayEstado);
}

export function storedCondiciones(shown: string): readonly string[] {
  return storedTexts(shown, displayCondicion);
}

function displayed(full: ReadonlyMap<string, string>, stored: string): string | null {
  // Nearly every cell is a stored form already.
  const known = full.get(stored);
  if (known !== undefined) return known;
  return carriedText(stored) === '' ? null : (full.get(storedForm(stored)) ?? stored);
}

function storedTexts(shown: string, display: (stored: string) => string | null): readonly string[] {
  if (carriedText(shown) === '') return [];
  const typed = carriedText(shown.normalize('NFC').toUpperCase());
  const plain = storedForm(typed);
  const whole = [plain, typed, display(plain) ?? plain];
  const isCutOff = cutText(plain) !== plain && storedForm(display(cutText(plain)) ?? '') === plain;
  return [...new Set(isCutOff ? [...whole, ...whole.map(cutText)] : whole)];
}

function cutText(text: string): string {
  return text.slice(0, cutAt).trimEnd();
}

// Maps each text's stored form (without accents) to the text. Both the whole form and the form cut at `cutAt` are keys,
// because a register may widen its column one day.
function byStoredText(texts: readonly string[]): ReadonlyMap<string, string> {
  const shown = new Map<string, string>();
  for (const text of texts) {
    const whole = storedForm(text);
    shown.set(whole, text);
    shown.set(cutText(whole), text);
  }
  return shown;
}

function storedForm(text: string): string {
  return text
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '')
    .replace(/\s+/g, ' ')
    .trim();
}
