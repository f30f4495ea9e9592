import { expansionsOf, foldName } from '../../schemas/names.ts';

/** A typed word and the words that it may stand for. */
export interface Term {
  word: string;
  /** The word itself and the words that it abbreviates. */
  same: readonly string[];
}

/** A query in the form in which names are searched (FoldedName in schemas/names.ts). */
export interface Terms {
  base: string;
  form: string;
  /** The words that were typed with Ñ. */
  enie: readonly string[];
  /** All words but the last. */
  whole: readonly Term[];
  /** The last word, which may be unfinished. */
  last: Term;
}

/** Returns null when the query consists only of signs. */
export function termsOf(query: string): Terms | null {
  const { base, form, enie } = foldName(query.trim());
  if (base === '') return null;
  const words = [...new Set(base.split(' '))];
  const terms = words.map((word): Term => ({ word, same: [word, ...expansionsOf(word)] }));
  return { base, form, enie: enie === '' ? [] : enie.split(' '), whole: terms.slice(0, -1), last: terms.at(-1)! };
}

/** Eleven digits after the words that people write before a RUC: R.U.C., RUC N°, RUC Nº, RUC NRO., NÚMERO DE RUC. */
const typedRuc = /^(?:RUC|NUMERO|NUM|NRO|NO|Nº|N|DE)*([0-9]{11})$/;

/**
 * Returns the digits of a query that is a RUC, with any spaces and signs between them. Returns null for any other
 * query. The check digit is not checked.
 */
export function rucTyped(query: string): string | null {
  const plain = query
    .normalize('NFD')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
  return typedRuc.exec(plain)?.[1] ?? null;
}

/** Number of edits allowed in a word: none in short words, where every edit makes another word. */
export function editsAllowed(word: string): 0 | 1 | 2 {
  // A number with another digit is a different number.
  if (/[0-9]/.test(word)) return 0;
  if (word.length >= 8) return 2;
  return word.length >= 4 ? 1 : 0;
}
