import { expansionsOf, foldName } from '../../schemas/names.ts';

/** A word that was typed, and what it may stand for. */
export interface Term {
  word: string;
  /** The word and what it abbreviates. */
  same: readonly string[];
}

/** What is searched for, in the form in which names are stored. */
export interface Terms {
  base: string;
  form: string;
  /** Typed with Ñ. */
  enie: readonly string[];
  /** All but the last. */
  whole: readonly Term[];
  /** Perhaps not typed to its end. */
  last: Term;
}

/** null: nothing but signs. */
export function termsOf(query: string): Terms | null {
  const { base, form, enie } = foldName(query.trim());
  if (base === '') return null;
  const words = [...new Set(base.split(' '))];
  const terms = words.map((word): Term => ({ word, same: [word, ...expansionsOf(word)] }));
  return { base, form, enie: enie === '' ? [] : enie.split(' '), whole: terms.slice(0, -1), last: terms.at(-1)! };
}

/** The RUC that a query is, however it is spaced; null: it is none. */
export function rucTyped(query: string): string | null {
  const digits = query.replace(/[\s.-]/g, '');
  return /^[0-9]{11}$/.test(digits) ? digits : null;
}

/** Edits allowed in a word: none in short ones, where every edit makes another word. */
export function editsAllowed(word: string): 0 | 1 | 2 {
  // A number with another digit is another number.
  if (/[0-9]/.test(word)) return 0;
  if (word.length >= 8) return 2;
  return word.length >= 4 ? 1 : 0;
}
