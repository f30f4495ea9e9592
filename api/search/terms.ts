import { foldName } from '../../schemas/names/fold.ts';
import { lettersOf, type Span } from '../../schemas/names/spans.ts';

/** A part of a query that a name must have. */
export interface Term {
  /** The part as typed, in one word. */
  word: string;
  /** The word itself, its other spellings, and the words that it abbreviates. A name needs one of them. */
  same: readonly string[];
  /** Words that together stand for the term, as D and PUYAQUE do for DPUYAQUE. Empty: there are no such words. */
  parts: readonly string[];
}

/**
 * One way in which a name may continue the last term: the name has all words of `before`, and a word that begins with
 * `begin`. For D'PUYAQ: one word that begins with DPUYAQ, or D and a word that begins with PUYAQ.
 */
export interface End {
  before: readonly string[];
  begin: string;
}

/** A query in the form in which names are searched (FoldedName in schemas/names/fold.ts). */
export interface Terms {
  base: string;
  form: string;
  /** The words that were typed with Ñ. */
  enie: readonly string[];
  /** The query's letters in each way of writing it (`lettersOf`). A name with one of these texts equals the query. */
  letters: readonly string[];
  /** The words of `base`, each once. */
  typed: readonly string[];
  /** All terms but the last, each once. */
  whole: readonly Term[];
  /** The last term, which may be unfinished. */
  last: Term;
  /** The ways to write the last term, in one word or in parts, each possibly unfinished. The typed way comes first. */
  ends: readonly End[];
}

/** Largest number of ways of writing a query that are compared with names. */
const maxLetters = 64;

/** Returns null when the query consists only of signs. */
export function termsOf(query: string): Terms | null {
  const { base, form, enie, spans } = foldName(query.trim());
  if (base === '') return null;
  const terms = new Map(spans.map((span) => [span.spellings[0]!, termOf(span)]));
  const last = termOf(spans.at(-1)!);
  // If the last term also stands earlier in the query, a name needs it only once: as `last`, which may be unfinished.
  terms.delete(last.word);
  const typed = [...new Set(base.split(' '))];
  return {
    base,
    form,
    enie: enie === '' ? [] : enie.split(' '),
    letters: lettersOf(spans, maxLetters),
    typed,
    whole: [...terms.values()],
    last,
    ends: endsOf(last, base.slice(base.lastIndexOf(' ') + 1)),
  };
}

function termOf({ spellings, parts }: Span): Term {
  return { word: spellings[0]!, same: spellings, parts };
}

function endsOf({ same, parts }: Term, typed: string): readonly End[] {
  if (parts.length === 0) return [{ before: [], begin: typed }];
  const apart = { before: parts.slice(0, -1), begin: parts.at(-1)! };
  const joined = same.map((begin) => ({ before: [], begin }));
  return typed === same[0] ? [...joined, apart] : [apart, ...joined];
}

/** Eleven digits after the words that people write before a RUC: R.U.C., RUC N°, RUC Nº, RUC NRO., NÚMERO DE RUC. */
const typedRuc = /^(?:RUC|NUMERO|NUM|NRO|NO|Nº|N|DE)*([0-9]{11})$/;

/**
 * Returns the digits of a query that is a RUC, also after words such as RUC N°, and with any spaces and signs between
 * the digits. Returns null for any other query. The check digit is not checked.
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
