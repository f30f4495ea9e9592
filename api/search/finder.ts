import { longestLength } from '../../pipelines/consumers/company-names.ts';
import { mayBeginForm } from '../../schemas/names/legal-forms.ts';
import type { DocSet } from './doc-set.ts';
import type { NameIndex, Words } from './name-index.ts';
import { type Filters, mayGoOn, type Question } from './question.ts';
import { firstApproximatePlace, lastEditsPlace, prefixPlace, type Rank, wordsPlace } from './rank.ts';
import type { Term } from './terms.ts';

/**
 * Largest number of completions (words that begin with the unfinished last word) in the searches for names with edits
 * (`near`) or with one term left out (`fewer`).
 */
const maxEndsBesideMistakes = 64;

/** The names of one index, and which of them are out of date because a newer index has their key. */
export interface Names {
  index: NameIndex;
  replaced: DocSet | null;
}

/** How a name matches. @see Rank */
export type Match = Pick<Rank, 'place' | 'mismatch'>;
export type Take = (doc: number, match: Match) => boolean;

/** Finds the names of one index that answer a question. Each method passes them in the index's order. */
export class Finder {
  readonly #index: NameIndex;
  readonly #question: Question;
  readonly #vocabulary: Words;
  readonly #base: Buffer;
  readonly #same: ReadonlySet<number>;
  /** The number of the typed legal form in the index; -1: no name has it. */
  readonly #form: number;
  readonly #passes: (doc: number) => boolean;

  constructor(names: Names, question: Question, vocabulary: Words) {
    this.#index = names.index;
    this.#index.beginSearch();
    this.#question = question;
    this.#vocabulary = vocabulary;
    this.#base = Buffer.from(question.terms.base, 'latin1');
    this.#same = new Set(names.index.docsOfLetters(question.terms.letters));
    this.#form = names.index.forms.list.indexOf(question.terms.form);
    this.#passes = filterOf(names, question.filters);
  }

  /** Names with all terms, in whatever tier. */
  any(take: Take): void {
    this.#eachOf(this.#allTerms(), (doc) => {
      const place = this.#same.has(doc)
        ? this.#placeOfSame(doc)
        : this.#index.beginsWith(doc, this.#base)
          ? prefixPlace
          : wordsPlace;
      return take(doc, { place, mismatch: this.#mismatch(doc) + (place < prefixPlace ? this.#otherSpelling(doc) : 0) });
    });
  }

  /**
   * Names that are the same as the query. If the last typed word has only one spelling and no name has it as a whole
   * word, no name is the same.
   */
  sameByWords(take: Take): void {
    const { terms, completions } = this.#question;
    const isOneWord = terms.last.same.length === 1 && terms.last.parts.length === 0;
    if (!isOneWord || completions[0]!.words.includes(terms.last.word)) this.same(take);
  }

  /** Names whose letters are those of the query, in one of the ways of writing the query. */
  same(take: Take): void {
    for (const doc of this.#same) {
      if (!this.#passes(doc)) continue;
      const match = { place: this.#placeOfSame(doc), mismatch: this.#mismatch(doc) + this.#otherSpelling(doc) };
      if (!take(doc, match)) return;
    }
  }

  /** Other names that begin with the query. */
  goingOn(take: Take): void {
    const { terms, completions } = this.#question;
    if (!mayGoOn(this.#question)) return;
    const { base, typed, ends } = terms;
    const last = ends[0]!.begin;
    const { words, more } = completions[0]!;
    const before = typed.filter((word) => word !== last);
    const length = Math.min(base.length, longestLength);
    // So many names begin with a lone word of very many completions that to look at all names in turn is faster.
    const begun =
      before.length === 0 && more ? null : this.#all(before).and(more ? this.#beginning(last) : this.#any(words));
    this.#eachOf(begun, (doc) => {
      if (this.#index.length[doc]! < length || !this.#index.beginsWith(doc, this.#base) || this.#same.has(doc))
        return true;
      return take(doc, { place: prefixPlace, mismatch: this.#mismatch(doc) });
    });
  }

  /** Other names that have all terms. */
  words(take: Take): void {
    this.#eachOf(this.#allTerms(), (doc) => {
      if (this.#same.has(doc) || this.#index.beginsWith(doc, this.#base)) return true;
      return take(doc, { place: wordsPlace, mismatch: this.#mismatch(doc) });
    });
  }

  /** Names that have all terms when at least one is read with a few edits; on the first page also those without. */
  near(take: Take): void {
    const { terms, near, after } = this.#question;
    const found = this.#index.newSet().fill();
    const edited: { asTyped: DocSet; oneEdit: DocSet }[] = [];
    for (const index of [...terms.whole, terms.last].keys()) {
      found.and(this.#nearTerm(index));
      const words = near.filter(({ term }) => term === index);
      if (words.length === 0) continue;
      const asTyped = this.#any(this.#wordsOf(index));
      edited.push({ asTyped, oneEdit: this.#any(words.filter(({ edits }) => edits === 1).map(({ word }) => word)) });
    }
    const isExcluded = after === null ? null : this.#allTerms();
    this.#eachOf(found, (doc) => {
      if (isExcluded?.has(doc)) return true;
      let edits = 0;
      for (const { asTyped, oneEdit } of edited) if (!asTyped.has(doc)) edits += oneEdit.has(doc) ? 1 : 2;
      const place = Math.min(firstApproximatePlace - 1 + Math.max(edits, 1), lastEditsPlace);
      return take(doc, { place, mismatch: this.#mismatch(doc) });
    });
  }

  /** Names that have all terms but the dropped one, each as typed or with a few edits. */
  without(dropped: number, place: number, take: Take): void {
    const { terms } = this.#question;
    const found = this.#index.newSet().fill();
    for (const index of [...terms.whole, terms.last].keys()) if (index !== dropped) found.and(this.#nearTerm(index));
    this.#eachOf(found, (doc) => take(doc, { place, mismatch: this.#mismatch(doc) }));
  }

  /** @param docs null for all names */
  #eachOf(docs: DocSet | null, visit: (doc: number) => boolean): void {
    const each = (doc: number) => !this.#passes(doc) || visit(doc);
    if (docs !== null) docs.each(each);
    else for (let doc = 0; doc < this.#index.size && each(doc); ) doc += 1;
  }

  #placeOfSame(doc: number): number {
    return this.#hasForm(doc) ? 0 : 1;
  }

  #hasForm(doc: number): boolean {
    return this.#index.form[doc] === this.#form;
  }

  #otherSpelling(doc: number): number {
    return this.#index.isName(doc, this.#base) ? 0 : 1;
  }

  /** A number that is higher when a name's Ñ or legal form differs from the typed one. */
  #mismatch(doc: number): number {
    const { form, enie } = this.#question.terms;
    const other = form !== '' && !this.#hasForm(doc) ? 1 : 0;
    if (enie.length === 0) return other;
    const text = ` ${this.#index.enie(doc)}`;
    return other + (enie.every((word) => text.includes(` ${word}`)) ? 0 : 2);
  }

  #any(words: Iterable<string>): DocSet {
    const set = this.#index.newSet();
    for (const word of words) set.addAll(this.#index.docsOf(word));
    return set;
  }

  #beginning(begin: string): DocSet {
    return this.#index.docsBeginning(begin, this.#vocabulary);
  }

  #all(words: readonly string[]): DocSet {
    const set = this.#index.newSet().fill();
    for (const word of words) set.and(this.#any([word]));
    return set;
  }

  /** The names that have one of `words`, or all of `parts` if there are parts. */
  #anyOrAll(words: Iterable<string>, parts: readonly string[]): DocSet {
    const any = this.#any(words);
    return parts.length === 0 ? any : any.or(this.#all(parts));
  }

  #allTerms(): DocSet {
    const { whole } = this.#question.terms;
    const found = this.#index.newSet().fill();
    for (const { same, parts } of whole) found.and(this.#anyOrAll(same, parts));
    return this.#lastTerm(found);
  }

  /** Keeps the names with the last term, which may be unfinished. A name must fit one of its readings (`ends`). */
  #lastTerm(found: DocSet): DocSet {
    const { terms, completions } = this.#question;
    const { ends, last, whole, base } = terms;
    const fitting = this.#index.newSet();
    for (const [at, { before, begin }] of ends.entries()) {
      const { words, more } = completions[at]!;
      const isLone = whole.length === 0 && before.length === 0;
      const same = last.parts.length === 0 ? last.same : [begin];
      // For a lone unfinished word with very many completions, the shortest completions suffice.
      const fits = this.#any(same).or(more && !isLone ? this.#beginning(begin) : this.#any(words));
      const had = this.#all(before).and(found);
      fits.and(had);
      if (!isLone && base.endsWith(` ${begin}`) && mayBeginForm(begin)) this.#addForms(begin, had, fits);
      fitting.or(fits);
    }
    return fitting;
  }

  /** Adds to `fits` the names of `from` whose legal form begins with the given letters. */
  #addForms(begin: string, from: DocSet, fits: DocSet): void {
    const isForm = this.#index.forms.list.map((form) => form.startsWith(begin));
    from.each((doc) => {
      if (isForm[this.#index.form[doc]!]) fits.add(doc);
      return true;
    });
  }

  #term(index: number): Term {
    const { whole, last } = this.#question.terms;
    return whole[index] ?? last;
  }

  /** Returns the words that a name may have for a term that is spelled right. For the last term, also completions. */
  #wordsOf(index: number): readonly string[] {
    const { terms, completions } = this.#question;
    if (index < terms.whole.length) return terms.whole[index]!.same;
    const ends = terms.ends.flatMap(({ before }, at) => (before.length === 0 ? completions[at]!.words : []));
    return [...terms.last.same, ...ends.slice(0, maxEndsBesideMistakes)];
  }

  /** The names that have a term as typed or with a few edits. */
  #nearTerm(index: number): DocSet {
    const mistyped = this.#question.near.filter(({ term }) => term === index).map(({ word }) => word);
    return this.#anyOrAll([...this.#wordsOf(index), ...mistyped], this.#term(index).parts);
  }
}

function filterOf({ index, replaced }: Names, filters: Filters): (doc: number) => boolean {
  const { estados, condiciones, ubigeo } = filters;
  const isEstado = estados === null ? null : index.estados.list.map((each) => estados.includes(each));
  const isCondicion = condiciones === null ? null : index.condiciones.list.map((each) => condiciones.includes(each));
  // The index has the daily register's ubigeo. A row without a code there passes too, and confirm() in
  // find-companies.ts then compares the monthly register's ubigeo.
  const isPlace =
    ubigeo === null ? null : index.ubigeos.list.map((each) => each.startsWith(ubigeo) || !/^[0-9]/.test(each));
  return (doc) =>
    (replaced === null || !replaced.has(doc)) &&
    (isEstado === null || isEstado[index.estado[doc]!]!) &&
    (isCondicion === null || isCondicion[index.condicion[doc]!]!) &&
    (isPlace === null || isPlace[index.ubigeo[doc]!]!);
}
