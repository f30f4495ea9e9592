import { longestLength } from '../../pipelines/consumers/company-names.ts';
import { mayBeginForm } from '../../schemas/legal-forms.ts';
import { firstApproximatePlace, lastPlace, prefixPlace, type Rank, wordsPlace } from './rank.ts';
import type { Term, Terms } from './terms.ts';

/**
 * A statement and its named parameters, which are texts or lists of texts. They come from foldName(), from the words of
 * companies' names, or from filters that the schema of the request has checked.
 */
export interface Statement {
  query: string;
  parameters: Record<string, unknown>;
}

/**
 * A company must have one of the texts in `estados` and one in `condiciones`, as the register writes them, and an
 * ubigeo that begins with `ubigeo`. Null accepts every text.
 */
export interface Filters {
  estados: readonly string[] | null;
  condiciones: readonly string[] | null;
  ubigeo: string | null;
}

/**
 * Words that complete the last typed word. `more` means that `words` may lack some of them. Then a query of several
 * words also looks for the last word's beginning in the names themselves (`lastWord`).
 */
export interface Completions {
  words: readonly string[];
  more: boolean;
}

/**
 * `words` are the first words of all names that can begin with the query. `names` is the number of names whose first
 * word is one of `words`. `more` means that `words` may not be complete.
 */
export interface Beginnings {
  words: readonly string[];
  names: number;
  more: boolean;
}

/** A word that is a few edits away from a typed word. */
export interface NearWords {
  /** Index of the typed word in the query. */
  term: number;
  word: string;
  edits: number;
}

/**
 * `name`: names that equal the query or begin with it. `words`: other names with all words of the query, in any order.
 * `any`: the names of `name` and `words` together, in the table's order (by standing). `near`: names that have all
 * words of the query when at least one word is read with a few edits. On the first page (`after` is null) `near` also
 * returns names that need no edits, and propose() in find-companies.ts drops them.
 */
export type Tier = 'name' | 'words' | 'any' | 'near';

export interface Question {
  tier: Tier;
  terms: Terms;
  filters: Filters;
  /** Only hits after this rank are wanted. Null on the first page, and always null in the tier `any`. */
  after: Rank | null;
  limit: number;
  completions: Completions;
  beginnings: Beginnings;
  /** The words of names that are near a typed word. Only the tier `near` uses them. */
  near: readonly NearWords[];
}

/**
 * Whether names are also ordered by likeness to the query. That is so when the query has a legal form or an Ñ, which
 * some names share and others lack.
 */
export function ranksByFidelity({ form, enie }: Terms): boolean {
  return form !== '' || enie.length > 0;
}

/**
 * Makes the statement for a question.
 * @param firstRows the number of rows to read, in the table's order (standing, length, RUC). Null: the statement finds
 *   the best rows in the order of ranks. If that order differs from the table's, ClickHouse reads every matching row.
 */
export function statementOf(question: Question, firstRows: number | null): Statement {
  const statement = new Draft(question, firstRows);
  const { tier, terms } = question;
  if (tier === 'near') return statement.finish([nearWords(statement, question)]);
  if (tier === 'name') return statement.finish(names(statement, question));
  const conditions = allWords(statement, question);
  if (tier === 'words')
    return statement.finish([
      statement.select(`${wordsPlace}`, [wordsPlace], [`NOT ${byName(statement, terms)}`, ...conditions]),
    ]);
  const begins = `startsWith(name, ${statement.text(terms.base)})`;
  const place = `if(${begins}, ${placeOfName(statement, terms)}, ${wordsPlace})`;
  return statement.finish([statement.select(place, [], conditions)]);
}

/**
 * Makes the queries for names that equal the query or begin with it. When no name has the last typed word as a whole
 * word, no name equals the query. Then only names that begin with the query are searched.
 */
function names(statement: Draft, question: Question): string[] {
  const { terms, completions } = question;
  const length = Math.min(terms.base.length, longestLength);
  const goesOn = [`length >= ${length}`, ...goingOn(statement, question)];
  if (!completions.words.includes(terms.last.word)) return [statement.select(`${prefixPlace}`, [prefixPlace], goesOn)];
  const typed = [...terms.whole, terms.last].map(({ word }) => word);
  const allWords = `hasAllTokens(words, ${statement.list(typed)})`;
  const isIt = `name = ${statement.text(terms.base)}`;
  return [
    statement.select(placeOfName(statement, terms), [0, 1], [`length = ${length}`, allWords, isIt], true),
    statement.select(`${prefixPlace}`, [prefixPlace], [...goesOn, `NOT (${isIt})`]),
  ];
}

/**
 * Makes the conditions for names that begin with the query. The conditions on words use indexes, so ClickHouse reads
 * few names. Without these conditions it would read all names when none begins with the query.
 */
function goingOn(statement: Draft, { terms, completions, beginnings }: Question): string[] {
  const { whole, last, base } = terms;
  const conditions: string[] = [];
  if (!beginnings.more) conditions.push(`hasAnyTokens(first_word, ${statement.list(beginnings.words)})`);
  const between = whole.slice(1).map(({ word }) => word);
  if (between.length > 0) conditions.push(`hasAllTokens(words, ${statement.list(between)})`);
  const isLone = base === last.word;
  if (!isLone && !completions.more) conditions.push(`hasAnyTokens(words, ${statement.list(completions.words)})`);
  if (beginnings.more || !isLone) conditions.push(byName(statement, terms));
  return conditions;
}

function placeOfName(statement: Draft, { base, form }: Terms): string {
  return `multiIf(name != ${statement.text(base)}, ${prefixPlace}, form = ${statement.text(form)}, 0, 1)`;
}

/** Largest number of completions that the tier `near` uses, because every name is compared with each completion. */
const maxEndsBesideMistakes = 64;

function nearWords(statement: Draft, question: Question): string {
  const { terms, completions, near } = question;
  const all = [...terms.whole, terms.last];
  const conditions: string[] = [];
  const edits: string[] = [];
  for (const [index, { same }] of all.entries()) {
    const as = index === all.length - 1 ? [...same, ...completions.words.slice(0, maxEndsBesideMistakes)] : same;
    const ofTerm = near.filter(({ term }) => term === index);
    const once = [...as, ...ofTerm.filter((each) => each.edits === 1).map(({ word }) => word)];
    const any = statement.list([...new Set([...as, ...ofTerm.map(({ word }) => word)])]);
    conditions.push(`hasAnyTokens(words, ${any})`);
    if (ofTerm.length > 0) {
      const typed = statement.list(as);
      const oneEdit = statement.list(once);
      edits.push(`multiIf(hasAny(each, ${typed}), 0, hasAny(each, ${oneEdit}), 1, 2)`);
    }
  }
  const sum = `arraySum(arrayMap(each -> ${edits.join(' + ')}, [splitByChar(' ', words)]))`;
  const place = `toUInt8(least(${firstApproximatePlace - 1} + greatest(${sum}, 1), ${lastPlace}))`;
  const places = Array.from({ length: lastPlace + 1 - firstApproximatePlace }, (_, at) => firstApproximatePlace + at);
  // On the first page propose() in find-companies.ts drops the names that have all words, because excluding these names
  // here costs more than reading their rows.
  if (question.after !== null) conditions.push(`NOT (${allWords(statement, question).join(' AND ')})`);
  return statement.select(place, places, conditions);
}

/** Compares the short column `begin` first. Whole names are read only for queries that are longer than this column. */
function byName(statement: Draft, { base }: Terms): string {
  const begin = `startsWith(begin, ${statement.text(base.slice(0, beginLength))})`;
  if (base.length <= beginLength) return begin;
  return `(${begin} AND startsWith(name, ${statement.text(base)}))`;
}

function allWords(statement: Draft, { terms, completions }: Question): string[] {
  return [...wholeWords(statement, terms.whole), lastWord(statement, terms, completions)];
}

function wholeWords(statement: Draft, terms: readonly Term[]): string[] {
  const plain = terms.filter(({ same }) => same.length === 1).map(({ word }) => word);
  const others = terms.filter(({ same }) => same.length > 1);
  return [
    ...(plain.length > 0 ? [`hasAllTokens(words, ${statement.list(plain)})`] : []),
    ...others.map(({ same }) => `hasAnyTokens(words, ${statement.list(same)})`),
  ];
}

/** Makes the condition on the last typed word, which may be the beginning of a word or of the legal form. */
function lastWord(statement: Draft, { whole, last, base }: Terms, { words, more }: Completions): string {
  const isLone = whole.length === 0;
  // A lone word uses only its listed completions, because without other words too many names would have to be read.
  const isRead = more && !isLone;
  const ends = isRead ? last.same : [...new Set([...last.same, ...words])];
  const choices = [`hasAnyTokens(words, ${statement.list(ends)})`];
  if (isRead) {
    const begin = statement.text(last.word);
    choices.push(`startsWith(words, ${begin})`, `position(words, concat(' ', ${begin})) > 0`);
  }
  if (!isLone && base.endsWith(` ${last.word}`) && mayBeginForm(last.word))
    choices.push(`startsWith(form, ${statement.text(last.word)})`);
  return `(${choices.join(' OR ')})`;
}

/** Length of the column ranked_name.begin, in characters. */
const beginLength = 16;

class Draft {
  readonly #parameters: Record<string, unknown> = {};
  readonly #question: Question;
  readonly #isRanked: boolean;
  readonly #rows: number;
  readonly #always: readonly string[];
  readonly #mismatch: string | null;
  #count = 0;

  constructor(question: Question, firstRows: number | null) {
    this.#question = question;
    this.#isRanked = firstRows === null;
    this.#rows = firstRows ?? question.limit;
    this.#always = ['is_deleted = 0', ...this.#filters(question.filters)];
    this.#mismatch = this.#mismatchOf(question.terms);
  }

  list(values: readonly string[]): string {
    return this.#add(values, 'Array(String)');
  }

  text(value: string): string {
    return this.#add(value, 'String');
  }

  /**
   * @param place SQL for a row's place: how well its name matches (`place` of Rank in rank.ts)
   * @param places all places that this SQL can give, lowest first. With fewer than two of them, the rows are not ordered
   *   by place. It is empty for the tier `any`.
   */
  select(place: string, places: readonly number[], conditions: readonly string[], isRanked = this.#isRanked): string {
    const { after } = this.#question;
    const byPlace = places.length > 1;
    const byMismatch = this.#mismatch !== null;
    const keys = [
      ...(isRanked && byPlace ? (['place'] as const) : []),
      'standing' as const,
      ...(isRanked && byMismatch ? (['mismatch'] as const) : []),
      ...(['length', 'ruc'] as const),
    ];
    const where = [...this.#always, ...conditions];
    if (after !== null && places.length > 0) {
      if (after.place > places.at(-1)!) where.push('0');
      else if (after.place >= places[0]!)
        where.push(`(${keys.join(', ')}) > (${keys.map((key) => after[key]).join(', ')})`);
    }
    return `SELECT name, form, toString(ruc) AS ruc_text, standing, length, toUInt8(${place}) AS place,
  toUInt8(${this.#mismatch ?? '0'}) AS mismatch, ruc
FROM ranked_name WHERE ${where.join(' AND ')}
ORDER BY ${keys.join(', ')} LIMIT ${this.#rows}`;
  }

  finish(selects: readonly string[]): Statement {
    if (selects.length === 1) return { query: selects[0]!, parameters: this.#parameters };
    const order = 'ORDER BY place, standing, mismatch, length, ruc';
    const query = `SELECT name, form, ruc_text, standing, length, place, mismatch
FROM (${selects.join('\nUNION ALL\n')}) ${order} LIMIT ${this.#rows}`;
    return { query, parameters: this.#parameters };
  }

  /**
   * Returns SQL for a number that is higher when a name's Ñ or legal form differs from the typed one. Returns null when
   * the query has neither of them, because the number would then be the same for all names.
   */
  #mismatchOf({ form, enie }: Terms): string | null {
    const parts: string[] = [];
    if (enie.length > 0) {
      const typed = this.list(enie.map((word) => ` ${word}`));
      parts.push(`2 * toUInt8(NOT arrayAll(each -> position(concat(' ', enie), each) > 0, ${typed}))`);
    }
    if (form !== '') parts.push(`toUInt8(form != ${this.text(form)})`);
    return parts.length === 0 ? null : parts.join(' + ');
  }

  #filters({ estados, condiciones, ubigeo }: Filters): string[] {
    const parts: string[] = [];
    if (estados !== null) parts.push(`has(${this.list(estados)}, estado)`);
    if (condiciones !== null) parts.push(`has(${this.list(condiciones)}, condicion)`);
    // Where the daily register's cell is no code, confirm() in find-companies.ts compares the monthly register's.
    if (ubigeo !== null) parts.push(`(startsWith(ubigeo, ${this.text(ubigeo)}) OR NOT match(ubigeo, '^[0-9]'))`);
    return parts;
  }

  #add(value: unknown, type: string): string {
    this.#count += 1;
    const name = `value${this.#count}`;
    this.#parameters[name] = value;
    return `{${name}:${type}}`;
  }
}
