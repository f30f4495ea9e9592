/**
 * The daily register cuts `estado` and `condicion` at this number of characters and writes them without accents. We
 * store and compare the texts in this form. The functions in this file return the full texts, which are shown to
 * people. The full texts are from the code table of SUNAT's own services. A text that is not in the table is shown as
 * it is.
 */
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

/** Returns the text of `estado` to show. Accents and the cut end are restored if the full text is known. */
export function displayEstado(stored: string): string {
  return shownEstados.get(storedForm(stored)) ?? stored;
}

/**
 * Returns the text of `condicion` to show. NO HALLADO… is another legal state than NO HABIDO and is never shown as NO
 * HABIDO.
 */
export function displayCondicion(stored: string): string {
  return shownCondiciones.get(storedForm(stored)) ?? stored;
}

/** Returns every text that the register may hold for a shown or typed `estado`, with or without accents. */
export function storedEstados(shown: string): readonly string[] {
  return storedTexts(shown, displayEstado);
}

export function storedCondiciones(shown: string): readonly string[] {
  return storedTexts(shown, displayCondicion);
}

function storedTexts(shown: string, display: (stored: string) => string): readonly string[] {
  const whole = storedForm(shown.toUpperCase());
  const cut = whole.slice(0, cutAt).trimEnd();
  return cut !== whole && storedForm(display(cut)) === whole ? [whole, cut] : [whole];
}

// Each text is found by its full form and by its cut form, because a register may widen its column one day.
function byStoredText(texts: readonly string[]): ReadonlyMap<string, string> {
  const shown = new Map<string, string>();
  for (const text of texts) {
    const whole = storedForm(text);
    shown.set(whole, text);
    shown.set(whole.slice(0, cutAt).trimEnd(), text);
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
