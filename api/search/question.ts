import type { Rank } from './rank.ts';
import type { Terms } from './terms.ts';

/**
 * What a company must have: one of the texts in `estados` and one in `condiciones`, as the register writes them, and an
 * ubigeo that begins with `ubigeo`. Null accepts every value.
 */
export interface Filters {
  estados: readonly string[] | null;
  condiciones: readonly string[] | null;
  ubigeo: string | null;
}

/**
 * Words that begin with the unfinished last word of a query. `more` means that `words` may lack some of them. Then a
 * query of several words is searched with all words of the vocabulary that begin so (`lastTerm` in finder.ts).
 */
export interface Completions {
  words: readonly string[];
  more: boolean;
}

/**
 * `words` are the possible first words of the names that begin with the query. `names` is the number of names whose
 * first word is one of `words`. `more` means that `words` may not be complete.
 */
export interface Beginnings {
  words: readonly string[];
  names: number;
  more: boolean;
}

/** A word that is a few edits away from a typed word. */
export interface NearWords {
  /** Index of the typed word's term: a term of `Terms.whole` has its index there, and `Terms.last` the next index. */
  term: number;
  word: string;
  edits: number;
}

/**
 * Which names a question finds:
 * - `name`: names that are the same as the query or begin with the query.
 * - `words`: other names with all terms of the query, in any order.
 * - `any`: the names of `name` and `words` together, in the table's order: active and habido companies, other active
 *   ones, all others.
 * - `near`: names that have all terms when at least one is read with a few edits. On the first page (`after` is null)
 *   also names that need no edits, which propose.ts drops.
 * - `same`: names that are the same as the query except for how their words are joined.
 * - `fewer`: names that have all terms but one.
 */
export type Tier = 'name' | 'words' | 'any' | 'near' | 'same' | 'fewer';

export interface Question {
  tier: Tier;
  terms: Terms;
  filters: Filters;
  /**
   * Only hits after this rank are wanted. Null on the first page, and in the tier `any`, which only first pages use.
   */
  after: Rank | null;
  limit: number;
  /** For each way to write the last term (`terms.ends`, same index): the words of names that complete its `begin`. */
  completions: readonly Completions[];
  beginnings: Beginnings;
  /** The words of names that are a few edits away from a typed word. Only the tiers `near` and `fewer` use them. */
  near: readonly NearWords[];
  /** Indexes of the terms of which the tier `fewer` leaves out one at a time. */
  dropped: readonly number[];
}

/** A row of the index of names (`ranked_name`). It may be a past name: compare it with the company's current row. */
export interface Candidate {
  name: string;
  form: string;
  ruc: string;
  rank: Rank;
}

/**
 * Candidates in the order of ranks. `isWhole` means that no other candidates exist. The tier `any` gives only the first
 * matching names in the table's order. If there are more, one of them may have a better rank.
 */
export interface Candidates {
  candidates: readonly Candidate[];
  isWhole: boolean;
}

/**
 * Whether names are also ordered by likeness to the query. That is so when the query has a legal form or an Ñ, which
 * some names share and others lack.
 */
export function ranksByFidelity({ form, enie }: Terms): boolean {
  return form !== '' || enie.length > 0;
}

/** Whether names may begin with the query. If not, a name may still be the same as the query in another spelling. */
export function mayGoOn({ completions, beginnings }: Pick<Question, 'completions' | 'beginnings'>): boolean {
  return [completions[0]!, beginnings].every(({ words, more }) => words.length > 0 || more);
}
