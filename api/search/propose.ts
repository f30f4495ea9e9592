import { type Filters, mayGoOn, type NearWords, type Question, ranksByFidelity, type Tier } from './question.ts';
import { fewerWordsPlace, firstApproximatePlace, isExact, prefixPlace, type Rank, wordsPlace } from './rank.ts';
import type { Candidate, NameStore } from './store.ts';
import type { Terms } from './terms.ts';

/** Candidates asked for beyond a page, because confirm() (find-companies.ts) may drop some whose rows are outdated. */
const spareCandidates = 2;
/**
 * The tier `fewer` (names that have all terms but one) leaves out each of the first terms in turn, up to this number,
 * unless `droppedTerms` finds the wrong one. Each of them is one more search.
 */
const maxDroppedTerms = 6;
/** A typed word of at most so many characters may be initials or a piece of a word, such as the D of DPUYAQUE. */
const longestPiece = 3;
/** When the tier `fewer` drops a term, another must be at least this long. Shorter ones are in too many names. */
const leastLength = 3;

export interface Search {
  names: NameStore;
  terms: Terms;
  filters: Filters;
  /** Approximate matches are looked for only when fewer hits than this were found without them. */
  guessBelow: number;
}

export interface Proposal {
  candidates: readonly Candidate[];
  isLast: boolean;
}

/**
 * Asks the index for candidates, one tier (`Tier`) after another, until the tiers have given `enough` candidates.
 * - `near` (names a few edits away) only if no name is the same as the query: a query that is a name has no mistakes.
 * - `same` (words joined otherwise) and `fewer` (one term left out) only on a first page for which nothing else was
 *   found, and `fewer` also on the pages that continue its names. So they cost nothing in other searches.
 * @param given hits that were confirmed in earlier rounds
 */
export async function propose(
  search: Search,
  after: Rank | null,
  enough: number,
  given: readonly { rank: Rank }[],
): Promise<Proposal> {
  const { names, terms, filters, guessBelow } = search;
  const limit = enough + spareCandidates;
  const words = await names.words();
  const known = words.known(terms);
  const completions = terms.ends.map(({ begin }) => words.completions(begin));
  const beginnings = words.beginnings(terms);
  const plain = { terms, filters, after, limit, completions, beginnings, near: [], dropped: [] };
  const ask = (tier: Tier, more: Partial<Question> = {}) => names.candidates({ ...plain, tier, ...more });
  const found: Candidate[] = [];
  const add = (candidates: readonly Candidate[]) => void found.push(...candidates.slice(0, limit - found.length));

  const place = after?.place ?? 0;
  if (known.every(Boolean) && place <= wordsPlace) add(await certain(plain, ask, enough));
  const isGuessable = given.length + found.length < guessBelow && ![...given, ...found].some(isExact);
  const mayGuess = place >= firstApproximatePlace || isGuessable;
  if (found.length >= enough || !mayGuess) return { candidates: found, isLast: found.length < enough };

  const isNothing = () => guessBelow > 0 && given.length + found.length === 0;
  const isSplit = terms.typed.some((word) => word.length <= longestPiece);
  if (isNothing() && isSplit) add((await ask('same')).candidates);
  if (found.some(isExact)) return { candidates: found, isLast: found.length < enough };
  const near = words.nearWords(terms);
  const isEach = known.every((isKnown, index) => isKnown || near.some(({ term }) => term === index));
  if (place < fewerWordsPlace && near.length > 0 && isEach) {
    const before = new Set(found.map(keyOf));
    const guessed = await ask('near', { near, limit: limit + before.size });
    add(guessed.candidates.filter((candidate) => !before.has(keyOf(candidate))));
  }
  if (isNothing() && !isSplit) add((await ask('same')).candidates);
  if (isNothing() || place === fewerWordsPlace) {
    const dropped = droppedTerms(terms, known, near);
    if (dropped.length > 0) add((await ask('fewer', { near, dropped })).candidates);
  }
  return { candidates: found, isLast: found.length < enough };
}

type Ask = (tier: Tier) => ReturnType<NameStore['candidates']>;

/**
 * Asks for names that are the same as the query or begin with it (the tier `name`), and for names that have all its
 * terms (the tier `words`). When few names match, one query, of the tier `any`, usually finds all of them.
 */
async function certain(question: Omit<Question, 'tier'>, ask: Ask, enough: number): Promise<readonly Candidate[]> {
  const { terms, after } = question;
  const place = after?.place ?? 0;
  const any = after === null && isFew(question) ? await ask('any') : null;
  if (any?.isWhole) return any.candidates;
  const found: Candidate[] = [];
  // Even if no name begins with the query (`mayGoOn` is false), a name in another spelling may be the same as the
  // query. For such a query the first page has asked `any`, so `any` is not null. A later page needs more of these
  // names only if the page before ended with one (`place` below `prefixPlace`).
  const mayBeSame = any !== null || (after !== null && place < prefixPlace);
  if (place < wordsPlace && (mayGoOn(question) || mayBeSame)) found.push(...(await ask('name')).candidates);
  if (found.length >= enough) return found;
  const known = ranksByFidelity(terms) ? [] : (any?.candidates ?? []);
  const byWords = known.filter(({ rank }) => rank.place === wordsPlace);
  return [...found, ...(found.length + byWords.length >= enough ? byWords : (await ask('words')).candidates)];
}

/**
 * Guesses whether few names match: few begin with the first typed word, or few words complete the last one. With one
 * word, both must hold. Then one query of the tier `any` usually answers for the tiers `name` and `words`.
 */
function isFew({ terms: { typed }, completions, beginnings, limit }: Omit<Question, 'tier'>): boolean {
  const begunByFew = !beginnings.more && beginnings.names < limit;
  const hasEnds = !completions[0]!.more;
  return typed.length > 1 ? begunByFew || hasEnds : begunByFew && hasEnds;
}

/**
 * Returns the terms that the tier `fewer` leaves out, one at a time. If no name has a certain term, not even with a few
 * edits, only this term can be left out. With two such terms, or if only short terms would remain, nothing is left out.
 */
function droppedTerms(terms: Terms, known: readonly boolean[], near: readonly NearWords[]): number[] {
  const all = [...terms.whole, terms.last];
  const indexes = all.map((_, index) => index);
  const lost = indexes.filter((index) => !known[index] && !near.some(({ term }) => term === index));
  if (lost.length > 1) return [];
  const leavesWord = (dropped: number) =>
    all.some(({ word }, index) => index !== dropped && word.length >= leastLength);
  return (lost.length === 1 ? lost : indexes.slice(0, maxDroppedTerms)).filter(leavesWord);
}

function keyOf({ ruc, name }: Candidate): string {
  return `${ruc} ${name}`;
}
