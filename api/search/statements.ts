import { longestLength } from '../../pipelines/consumers/company-names.ts';
import { mayBeginForm } from '../../schemas/names/legal-forms.ts';
import { Draft, type Statement } from './draft.ts';
import { type Completions, mayGoOn, type Question } from './question.ts';
import { fewerWordsPlace, firstApproximatePlace, lastEditsPlace, prefixPlace, wordsPlace } from './rank.ts';
import type { End, Term, Terms } from './terms.ts';

/** Length of the column ranked_name.begin, in characters. */
const beginLength = 16;
/**
 * Largest number of completions (words that begin with the unfinished last word) in the searches for names with edits
 * (`near`) or with one term left out (`fewer`). `near` compares each name that it finds with all completions.
 */
const maxEndsBesideMistakes = 64;
/** If this many names have all terms but a certain one, the tier `fewer` does not show them: they are too many. */
const maxNamesWithFewerWords = 1_000;

/**
 * Makes the statement for a question.
 * @param firstRows the number of rows to read, in the table's order (standing, length, RUC). With null, the statement
 *   finds the best rows in the order of ranks; where the orders differ, ClickHouse reads every matching row.
 */
export function statementOf(question: Question, firstRows: number | null): Statement {
  const draft = new Draft(question, firstRows);
  const { tier, terms } = question;
  if (tier === 'fewer') return draft.finish([fewerWords(draft, question)]);
  if (tier === 'near') return draft.finish([nearWords(draft, question)]);
  if (tier === 'same') return draft.finish([sameNames(draft, terms)]);
  if (tier === 'name') return draft.finish(names(draft, question));
  const conditions = allTerms(draft, question);
  if (tier === 'words') {
    const others = [`NOT ${isSame(draft, terms)}`, `NOT ${byName(draft, terms)}`, ...conditions];
    return draft.finish([draft.select({ place: `${wordsPlace}`, places: [wordsPlace], conditions: others })]);
  }
  const begins = `startsWith(name, ${draft.text(terms.base)})`;
  const place = `multiIf(${isSame(draft, terms)}, ${placeOfSame(draft, terms)}, ${begins}, ${prefixPlace}, ${wordsPlace})`;
  const otherSpelling = `toUInt8(place < ${prefixPlace} AND ${isSpelledOtherwise(draft, terms)})`;
  return draft.finish([draft.select({ place, places: [], conditions, otherSpelling })]);
}

/**
 * Makes the queries for names that are the same as the query and for names that begin with it. The first is left out
 * when the last typed word has only one spelling and no name has it as a whole word, because then no name is the same.
 * The second is left out when no name begins with the query, but at least one query is made.
 */
function names(draft: Draft, question: Question): string[] {
  const { terms, completions } = question;
  const selects: string[] = [];
  const isOneWord = terms.last.same.length === 1 && terms.last.parts.length === 0;
  if (!isOneWord || completions[0]!.words.includes(terms.last.word)) {
    selects.push(sameNames(draft, terms));
  }
  if (selects.length === 0 || mayGoOn(question)) {
    const length = Math.min(terms.base.length, longestLength);
    const begun = mayGoOn(question) ? goingOn(draft, question) : ['0'];
    const conditions = [`length >= ${length}`, ...begun, `NOT ${isSame(draft, terms)}`];
    selects.push(draft.select({ place: `${prefixPlace}`, places: [prefixPlace], conditions }));
  }
  return selects;
}

function sameNames(draft: Draft, terms: Terms): string {
  const [place, places] = [placeOfSame(draft, terms), [0, 1]];
  const otherSpelling = `toUInt8(${isSpelledOtherwise(draft, terms)})`;
  return draft.select({ place, places, conditions: [isSame(draft, terms)], otherSpelling, isRanked: true });
}

/** Makes the condition for names whose letters are those of the query, in one of the ways of writing the query. */
function isSame(draft: Draft, { letters }: Terms): string {
  return `hasAnyTokens(letters, ${draft.list(letters)})`;
}

function placeOfSame(draft: Draft, { form }: Terms): string {
  return `if(form = ${draft.text(form)}, 0, 1)`;
}

function isSpelledOtherwise(draft: Draft, { base }: Terms): string {
  return `name != ${draft.text(base)}`;
}

/**
 * Makes the conditions for names that begin with the query. Conditions on words use indexes, so ClickHouse reads few
 * names. Without these conditions, ClickHouse would read all names when none begins with the query.
 */
function goingOn(draft: Draft, { terms, completions, beginnings }: Question): string[] {
  const { base, typed, ends } = terms;
  const last = ends[0]!.begin;
  const conditions: string[] = [];
  if (!beginnings.more) conditions.push(`hasAnyTokens(first_word, ${draft.list(beginnings.words)})`);
  const between = typed.slice(1).filter((word) => word !== last);
  if (between.length > 0) conditions.push(`hasAllTokens(words, ${draft.list(between)})`);
  const isLone = base === last;
  const { words, more } = completions[0]!;
  if (!isLone && !more) conditions.push(`hasAnyTokens(words, ${draft.list(words)})`);
  if (beginnings.more || !isLone) conditions.push(byName(draft, terms));
  return conditions;
}

/** Compares the short column `begin` (a name's first characters). Only a longer query needs the whole name as well. */
function byName(draft: Draft, { base }: Terms): string {
  const begin = `startsWith(begin, ${draft.text(base.slice(0, beginLength))})`;
  if (base.length <= beginLength) return begin;
  return `(${begin} AND startsWith(name, ${draft.text(base)}))`;
}

function allTerms(draft: Draft, { terms, completions }: Question): string[] {
  return [...wholeTerms(draft, terms.whole), lastTerm(draft, terms, completions)];
}

function wholeTerms(draft: Draft, terms: readonly Term[]): string[] {
  const isPlain = ({ same, parts }: Term) => same.length === 1 && parts.length === 0;
  const plain = terms.filter(isPlain).map(({ word }) => word);
  const others = terms.filter((term) => !isPlain(term));
  return [
    ...(plain.length > 0 ? [`hasAllTokens(words, ${draft.list(plain)})`] : []),
    ...others.map(({ same, parts }) => anyOrAll(draft, same, parts)),
  ];
}

/** Makes the condition on the last term, which may be unfinished. A name must fit one of its readings (`ends`). */
function lastTerm(draft: Draft, terms: Terms, completions: readonly Completions[]): string {
  const choices = terms.ends.map((end, index) => endOf(draft, terms, end, completions[index]!));
  return choices.length === 1 ? choices[0]! : `(${choices.join(' OR ')})`;
}

/** Makes the condition on one reading: a name has the words `before`, and a word or form that begins with `begin`. */
function endOf(
  draft: Draft,
  { whole, last, base }: Terms,
  { before, begin }: End,
  { words, more }: Completions,
): string {
  const isLone = whole.length === 0 && before.length === 0;
  // If `words` lacks some completions (words that begin with `begin`), the names themselves are searched for them. For
  // a lone word this would read too many names, so a lone word uses only `words`.
  const isRead = more && !isLone;
  const same = last.parts.length === 0 ? last.same : [begin];
  const choices = [`hasAnyTokens(words, ${draft.list(isRead ? same : [...new Set([...same, ...words])])})`];
  if (isRead) {
    const text = draft.text(begin);
    choices.push(`startsWith(words, ${text})`, `position(words, concat(' ', ${text})) > 0`);
  }
  if (!isLone && base.endsWith(` ${begin}`) && mayBeginForm(begin))
    choices.push(`startsWith(form, ${draft.text(begin)})`);
  const end = `(${choices.join(' OR ')})`;
  return before.length === 0 ? end : `(hasAllTokens(words, ${draft.list(before)}) AND ${end})`;
}

function nearWords(draft: Draft, question: Question): string {
  const { terms, near } = question;
  const all = [...terms.whole, terms.last];
  const edits: string[] = [];
  const conditions = all.map((_, index) => nearTerm(draft, question, index));
  for (const [index] of all.entries()) {
    const ofTerm = near.filter(({ term }) => term === index);
    if (ofTerm.length === 0) continue;
    const asTyped = wordsOf(question, index);
    const oneEdit = [...asTyped, ...ofTerm.filter((each) => each.edits === 1).map(({ word }) => word)];
    edits.push(`multiIf(hasAny(each, ${draft.list(asTyped)}), 0, hasAny(each, ${draft.list(oneEdit)}), 1, 2)`);
  }
  const sum = `arraySum(arrayMap(each -> ${edits.join(' + ')}, [splitByChar(' ', words)]))`;
  const place = `toUInt8(least(${firstApproximatePlace - 1} + greatest(${sum}, 1), ${lastEditsPlace}))`;
  const count = lastEditsPlace + 1 - firstApproximatePlace;
  const places = Array.from({ length: count }, (_, at) => firstApproximatePlace + at);
  // Names that have all terms without an edit are hits of other tiers. To exclude these names here costs more than to
  // read their rows, so on the first page propose.ts drops them.
  if (question.after !== null) conditions.push(`NOT (${allTerms(draft, question).join(' AND ')})`);
  return draft.select({ place, places, conditions });
}

/** Returns the words that a name may have for a term that is spelled right. For the last term, also completions. */
function wordsOf({ terms, completions }: Question, index: number): string[] {
  if (index < terms.whole.length) return [...terms.whole[index]!.same];
  const ends = terms.ends.flatMap(({ before }, at) => (before.length === 0 ? completions[at]!.words : []));
  return [...new Set([...terms.last.same, ...ends.slice(0, maxEndsBesideMistakes)])];
}

/** Makes the condition for names that have a term as typed or with a few edits. */
function nearTerm(draft: Draft, question: Question, index: number): string {
  const { terms, near } = question;
  const { parts } = terms.whole[index] ?? terms.last;
  const mistyped = near.filter(({ term }) => term === index).map(({ word }) => word);
  return anyOrAll(draft, [...new Set([...wordsOf(question, index), ...mistyped])], parts);
}

/** Makes the condition for names that have one of `words`, or all of `parts` if there are parts. */
function anyOrAll(draft: Draft, words: readonly string[], parts: readonly string[]): string {
  const any = `hasAnyTokens(words, ${draft.list(words)})`;
  return parts.length === 0 ? any : `(${any} OR hasAllTokens(words, ${draft.list(parts)}))`;
}

/**
 * Makes the query for names that have all terms but one. It leaves out each term of `dropped` in turn. The names that
 * have all other terms are one group, and a group with too many names is not shown.
 */
function fewerWords(draft: Draft, question: Question): string {
  const all = [...question.terms.whole, question.terms.last];
  const groups = question.dropped.map((dropped) =>
    all.flatMap((_, index) => (index === dropped ? [] : [nearTerm(draft, question, index)])),
  );
  return draft.selectSmallGroups(fewerWordsPlace, groups, maxNamesWithFewerWords);
}
