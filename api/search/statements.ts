import { firstApproximatePlace, lastPlace, type Rank, wordsPlace } from './rank.ts';
import type { Term, Terms } from './terms.ts';

/** A statement with its named parameters; all of them are texts or lists of texts that were folded or checked before. */
export interface Statement {
  query: string;
  parameters: Record<string, unknown>;
}

/** Texts as the register writes them; null: any. */
export interface Filters {
  estados: readonly string[] | null;
  condiciones: readonly string[] | null;
  ubigeo: string | null;
}

export interface Asked {
  terms: Terms;
  filters: Filters;
  after: Rank | null;
  limit: number;
}

/** Words that end what was typed; `more`: there are too many to name, so names are read for it. */
export interface Completions {
  words: readonly string[];
  more: boolean;
}

/** Words a few edits away from one that was typed. */
export interface NearWords {
  /** Where the word stands in the query. */
  term: number;
  word: string;
  edits: number;
}

/** Names that are what was typed, or go on from it: a range of the table's key, whatever its length. */
export function byName({ terms, ...asked }: Asked): Statement {
  const statement = new Draft({ base: terms.base, form: terms.form });
  const place = 'multiIf(name = {base:String} AND form = {form:String}, 0, name = {base:String}, 1, 2)';
  return statement.finish(terms, asked, place, ['startsWith(name, {base:String})']);
}

/** Names with all the words in any order. */
export function byWords({ terms, ...asked }: Asked, completions: Completions): Statement {
  const statement = new Draft({});
  const conditions = [...wholeWords(statement, terms.whole), lastWord(statement, terms, completions)];
  return statement.finish(terms, asked, `${wordsPlace}`, [notByName(statement, terms), ...conditions]);
}

/** Names with all the words, of which at least one is written otherwise; those of the tiers before are left out. */
export function byNearWords(
  { terms, ...asked }: Asked,
  completions: Completions,
  near: readonly NearWords[],
): Statement {
  const statement = new Draft({});
  const all = [...terms.whole, terms.last];
  const conditions: string[] = [];
  const edits: string[] = [];
  for (const [index, { same }] of all.entries()) {
    const as = index === all.length - 1 ? [...same, ...completions.words] : same;
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
  const earlier = [...wholeWords(statement, terms.whole), lastWord(statement, terms, completions)];
  const sum = `arraySum(arrayMap(each -> ${edits.join(' + ')}, [splitByChar(' ', words)]))`;
  const place = `toUInt8(least(${firstApproximatePlace - 1} + greatest(${sum}, 1), ${lastPlace}))`;
  return statement.finish(terms, asked, place, [
    notByName(statement, terms),
    ...conditions,
    `NOT (${earlier.join(' AND ')})`,
  ]);
}

/** What the tiers by name have given. Whole names are read only for what is longer than the column of their beginnings. */
function notByName(statement: Draft, { base }: Terms): string {
  const begin = `startsWith(begin, ${statement.text(base.slice(0, beginLength))})`;
  if (base.length <= beginLength) return `NOT ${begin}`;
  return `NOT (${begin} AND startsWith(name, ${statement.text(base)}))`;
}

function wholeWords(statement: Draft, terms: readonly Term[]): string[] {
  const plain = terms.filter(({ same }) => same.length === 1).map(({ word }) => word);
  const others = terms.filter(({ same }) => same.length > 1);
  return [
    ...(plain.length > 0 ? [`hasAllTokens(words, ${statement.list(plain)})`] : []),
    ...others.map(({ same }) => `hasAnyTokens(words, ${statement.list(same)})`),
  ];
}

/** The last word may be the beginning of one, or of the legal form. */
function lastWord(statement: Draft, { whole, last, base }: Terms, { words, more }: Completions): string {
  const choices = [`hasAnyTokens(words, ${statement.list([...new Set([...last.same, ...words])])})`];
  const isLone = whole.length === 0;
  // A lone word keeps to its nearest ends: only other words choose names that are few enough to be read for it.
  if (more && !isLone) {
    const begin = statement.text(last.word);
    choices.push(`startsWith(words, ${begin})`, `position(words, concat(' ', ${begin})) > 0`);
  }
  if (!isLone && base.endsWith(` ${last.word}`)) choices.push(`startsWith(form, ${statement.text(last.word)})`);
  return `(${choices.join(' OR ')})`;
}

/** Of company_name.begin, in characters. */
const beginLength = 16;
const shown = 'name, form, toString(ruc) AS ruc_text, estado, condicion, ubigeo, standing, length';

class Draft {
  readonly #parameters: Record<string, unknown>;
  #count = 0;

  constructor(parameters: Record<string, unknown>) {
    this.#parameters = parameters;
  }

  list(values: readonly string[]): string {
    return this.#add(values, 'Array(String)');
  }

  text(value: string): string {
    return this.#add(value, 'String');
  }

  /** `place` is an expression over the row; rows of the same place are ordered as rank.ts says. */
  finish(terms: Terms, asked: Omit<Asked, 'terms'>, place: string, conditions: readonly string[]): Statement {
    const { after, limit } = asked;
    const where = ['is_deleted = 0', ...conditions, ...this.#filters(asked.filters)];
    if (after !== null) where.push(this.#afterRank(after));
    return {
      query: `SELECT ${shown}, ${place} AS place, ${this.#mismatch(terms)} AS mismatch
FROM company_name WHERE ${where.join(' AND ')}
ORDER BY place, standing, mismatch, length, ruc LIMIT ${limit}`,
      parameters: this.#parameters,
    };
  }

  #mismatch({ form, enie }: Terms): string {
    const parts: string[] = [];
    if (enie.length > 0) {
      const typed = this.list(enie.map((word) => ` ${word}`));
      parts.push(`2 * toUInt8(NOT arrayAll(each -> position(concat(' ', enie), each) > 0, ${typed}))`);
    }
    if (form !== '') parts.push(`toUInt8(form != ${this.text(form)})`);
    return parts.length === 0 ? 'toUInt8(0)' : parts.join(' + ');
  }

  #filters({ estados, condiciones, ubigeo }: Filters): string[] {
    const parts: string[] = [];
    if (estados !== null) parts.push(`has(${this.list(estados)}, estado)`);
    if (condiciones !== null) parts.push(`has(${this.list(condiciones)}, condicion)`);
    if (ubigeo !== null) parts.push(`startsWith(ubigeo, ${this.text(ubigeo)})`);
    return parts;
  }

  #afterRank({ place, standing, mismatch, length, ruc }: Rank): string {
    return `(place, standing, mismatch, length, ruc) > (${place}, ${standing}, ${mismatch}, ${length}, ${ruc})`;
  }

  #add(value: unknown, type: string): string {
    this.#count += 1;
    const name = `value${this.#count}`;
    this.#parameters[name] = value;
    return `{${name}:${type}}`;
  }
}
