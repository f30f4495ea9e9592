import { splitLegalForm } from './legal-forms.ts';

/** Abbreviations in company names, each with the words that it may stand for. */
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

/** Returns the words for which `word` may stand, or an empty list. @param word in capitals without accents */
export function expansionsOf(word: string): readonly string[] {
  return known.get(word) ?? nothing;
}

/**
 * Returns the words by which a name is found: its own words, and the words that its abbreviations may stand for. The
 * search also expands abbreviations that a caller types, so either spelling finds the other.
 * @param base the name as in `FoldedName.base`
 */
export function searchedWords(base: string): string {
  const words = base.split(' ');
  const more = words.flatMap(expansionsOf);
  return more.length === 0 ? base : [...words, ...more].join(' ');
}

/** Words that some people write between two words and others leave out. `&` is dropped too, like every other sign. */
const connectors: ReadonlySet<string> = new Set(['Y', 'E']);

/** Words that are replaced by another spelling. Each has one replacement. A word of `abbreviations` may have more. */
const spellings: ReadonlyMap<string, string> = new Map([
  ['CIA', 'COMPANIA'],
  ['COMPAÑIA', 'COMPANIA'],
  ['HNOS', 'HERMANOS'],
  ['STA', 'SANTA'],
  ['STO', 'SANTO'],
  ['MUN', 'MUNICIPALIDAD'],
]);

// The accent signs are here because registers and people often write one where an apostrophe belongs.
const apostrophesAndQuotes = /['´`’‘"“”«»]/g;
const dottedInitials = /(?<![A-ZÑ0-9])(?:[A-ZÑ]\.){2,}[A-ZÑ]?(?![A-ZÑ0-9])/g;
const word = /[A-ZÑ0-9]+/g;
const digits = /^[0-9]+$/;
const oneLetter = /^[A-ZÑ]$/;
const needsNormalization = /[^\x20-\x7e]/;
const joinedEnie = /N\u0303/g;
const marks = /\p{Mn}/gu;

/** A name in the form in which it is searched. The unchanged name is stored for display. */
export interface FoldedName {
  /** Words without the legal form, separated by one space, with N for Ñ. */
  base: string;
  /** The legal form, for example `SAC` or `EIRL EN LIQUIDACION`. Empty: the name has no form. */
  form: string;
  /** The name's words that have an Ñ, with their Ñ. If a caller types an Ñ, names with the same Ñ rank first. */
  enie: string;
}

/**
 * Brings a name into the form in which it is searched. Names in registers and names in searches change alike:
 * - Letters become capitals without accents. Apostrophes and quotes are dropped. Other signs become spaces.
 * - Dotted initials are joined (`R.P.S.` becomes `RPS`), but `SAN.MARTIN` becomes two words.
 * - `Y`, `E` and `&` between words are left out. A letter is joined to the number before it (`3 A` becomes `3A`).
 * - The legal form is removed from the words and returned in `form`.
 * After you change this function, run `padron rebuild`, so that the stored names are made again by the new rules.
 */
export function foldName(name: string): FoldedName {
  const { words, form } = splitLegalForm(foldWords(name), name.length);
  const text = words.join(' ');
  if (!text.includes('Ñ')) return { base: text, form, enie: '' };
  const enie = words.filter((each) => each.includes('Ñ')).join(' ');
  return { base: text.replaceAll('Ñ', 'N'), form, enie };
}

/** Counts the letters and digits of a text. Spaces, signs and accents do not count. */
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
  // Most names are plain ASCII and need no normalization, which costs more than all other steps.
  if (!needsNormalization.test(upper)) return upper;
  return upper.normalize('NFD').replace(joinedEnie, 'Ñ').replace(marks, '');
}

function withoutConnectors(words: readonly string[]): readonly string[] {
  const last = words.length - 1;
  return words.filter((each, index) => index === 0 || index === last || !connectors.has(each));
}

/** Joins numbers with single letters: `3 A` becomes `3A`, and `4 X 4` becomes `4X4`. */
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
