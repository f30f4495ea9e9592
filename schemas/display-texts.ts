/**
 * The daily register cuts the texts of `estado` and `condicion` at 20 characters and writes them without accents. They are
 * stored and compared as written there, and this file restores them wherever a person reads them. The full texts are from the
 * code table of SUNAT's own services. A value that is not in the table is shown as it is.
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

/** Returns the text of `estado` to show, with accents and the cut end restored where they are known. */
export function displayEstado(stored: string): string {
  return shownEstados.get(storedForm(stored)) ?? stored;
}

/** Returns the text of `condicion` to show. NO HALLADO… is a different legal state from NO HABIDO and is never shown as it. */
export function displayCondicion(stored: string): string {
  return shownCondiciones.get(storedForm(stored)) ?? stored;
}

/** Returns every text of `estado` that the register may hold for a shown or typed one, with or without accents. */
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

// Each text is found whole and cut, because a register may widen its column one day.
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
