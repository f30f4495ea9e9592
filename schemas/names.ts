import { splitLegalForm } from './legal-forms.ts';

/** What stands for what in company names; one abbreviation may stand for several words. */
const abbreviations: Readonly<Record<string, readonly string[]>> = {
  ASOC: ['ASOCIACION'],
  COOP: ['COOPERATIVA'],
  INV: ['INVERSIONES', 'INVERSION'],
  DIST: ['DISTRIBUIDORA', 'DISTRIBUCIONES', 'DISTRIBUIDORES'],
  DISTRIB: ['DISTRIBUIDORA', 'DISTRIBUCIONES', 'DISTRIBUIDORES'],
  CORP: ['CORPORACION'],
  CONST: ['CONSTRUCTORA', 'CONSTRUCCIONES', 'CONSTRUCTORES'],
  CONSTR: ['CONSTRUCTORA', 'CONSTRUCCIONES', 'CONSTRUCTORES'],
  SERV: ['SERVICIOS', 'SERVICIO'],
  TRANSP: ['TRANSPORTES', 'TRANSPORTE'],
  IMP: ['IMPORTACIONES', 'IMPORTADORA'],
  EXP: ['EXPORTACIONES', 'EXPORTADORA'],
  IND: ['INDUSTRIAS', 'INDUSTRIA', 'INDUSTRIAL'],
};
const known: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(abbreviations));
const nothing: readonly string[] = [];

/** The words that a folded word may abbreviate; none for most. */
export function expansionsOf(word: string): readonly string[] {
  return known.get(word) ?? nothing;
}

/**
 * The words under which a folded name is found: its own and what its abbreviations may stand for. A typed abbreviation is
 * expanded where it is searched for, so both ways meet.
 */
export function searchedWords(base: string): string {
  const words = base.split(' ');
  const more = words.flatMap(expansionsOf);
  return more.length === 0 ? base : [...words, ...more].join(' ');
}

/** Said and left out alike between two words; `&` is no letter and falls with the signs. */
const connectors: ReadonlySet<string> = new Set(['Y', 'E']);

/** Spellings of one and the same word. Abbreviations that may stand for several words are another thing: abbreviations.ts. */
const spellings: ReadonlyMap<string, string> = new Map([
  ['CIA', 'COMPANIA'],
  ['COMPAÑIA', 'COMPANIA'],
  ['HNOS', 'HERMANOS'],
  ['STA', 'SANTA'],
  ['STO', 'SANTO'],
  ['MUN', 'MUNICIPALIDAD'],
]);

// The accents that registers and people write where an apostrophe belongs.
const apostrophesAndQuotes = /['´`’‘"“”«»]/g;
const dottedInitials = /(?<![A-ZÑ0-9])(?:[A-ZÑ]\.){2,}[A-ZÑ]?(?![A-ZÑ0-9])/g;
const word = /[A-ZÑ0-9]+/g;
const digits = /^[0-9]+$/;
const oneLetter = /^[A-ZÑ]$/;
const needsNormalization = /[^\x20-\x7e]/;
const joinedEnie = /N\u0303/g;
const marks = /\p{Mn}/gu;

/** A name as it is searched for; the name itself is kept for display. */
export interface FoldedName {
  /** Words without legal form, one space between, Ñ as N. */
  base: string;
  /** `SAC`, `EIRL EN LIQUIDACION`, …; empty: none. */
  form: string;
  /** The words of the base that hold an Ñ, with it: who types it means it. */
  enie: string;
}

/**
 * Folds a name, stored or typed, in the one way that both sides use: capitals without accents, apostrophes and quotes
 * dropped, other signs as spaces, dotted initials joined (`R.P.S.` = `RPS`, but `SAN.MARTIN` is two words), `Y`, `E` and `&`
 * between words left out, a letter joined to the number before it (`3 A` = `3A`), the legal form apart.
 * A change here needs `padron rebuild` for the stored side.
 */
export function foldName(name: string): FoldedName {
  const { words, form } = splitLegalForm(foldWords(name), name.length);
  const text = words.join(' ');
  if (!text.includes('Ñ')) return { base: text, form, enie: '' };
  const enie = words.filter((each) => each.includes('Ñ')).join(' ');
  return { base: text.replaceAll('Ñ', 'N'), form, enie };
}

/** How many letters and digits a text has once it is folded. */
export function significantCharacters(text: string): number {
  return (capitals(text).match(word) ?? []).reduce((sum, each) => sum + each.length, 0);
}

function foldWords(name: string): string[] {
  let text = capitals(name).replace(apostrophesAndQuotes, '');
  if (text.includes('.')) text = text.replace(dottedInitials, (initials) => initials.replaceAll('.', ''));
  return joinNumbers(withoutConnectors(text.match(word) ?? [])).map((each) => spellings.get(each) ?? each);
}

function capitals(text: string): string {
  const upper = text.toUpperCase();
  // Most names are plain: what follows costs more than all the rest.
  if (!needsNormalization.test(upper)) return upper;
  return upper.normalize('NFD').replace(joinedEnie, 'Ñ').replace(marks, '');
}

function withoutConnectors(words: readonly string[]): readonly string[] {
  const last = words.length - 1;
  return words.filter((each, index) => index === 0 || index === last || !connectors.has(each));
}

/** `3 A` is `3A` and `4 X 4` is `4X4`. */
function joinNumbers(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    let each = words[index]!;
    if (each.charCodeAt(0) < 0x3a && digits.test(each) && oneLetter.test(words[index + 1] ?? '')) {
      each += words[index + 1]!;
      index += 1;
      if (digits.test(words[index + 1] ?? '')) {
        each += words[index + 1]!;
        index += 1;
      }
    }
    joined.push(each);
  }
  return joined;
}
