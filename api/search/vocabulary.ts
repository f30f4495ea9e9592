import { mayBeginForm } from '../../schemas/names/legal-forms.ts';
import type { Beginnings, Completions, NearWords } from './question.ts';
import { type End, editsAllowed, type Term, type Terms } from './terms.ts';

/** Words beyond this number are ignored. A word takes some 60 bytes of memory. */
export const maxWords = 2_000_000;
/**
 * Most words in a list of completions (words that begin with the typed letters). If there are more, so many names match
 * that the best names are found without the list.
 */
const maxCompletions = 600;
const maxNearWords = 40;
/** Only the first words of a query, up to this number, may be mistyped. Words that allow no edits do not count. */
const maxMistypedWords = 8;

/**
 * Words that have the same first letter and the same length, sorted. The three arrays have one element per word. An
 * element of `letters` has one bit for each letter of its word. An element of `names` is the number of names that begin
 * with its word.
 */
interface Shelf {
  words: string[];
  letters: number[];
  names: number[];
}

/**
 * All words of companies' names, in memory, where a search takes less than a millisecond. Any query to the store takes
 * longer. Words are stored by first letter and length, so a search skips most words.
 */
export class Vocabulary {
  readonly #shelves = new Map<string, Shelf>();
  #longest = 0;
  #size = 0;

  /** Adds a word. The words must come in order, and a repeat of the previous word is skipped. */
  add(word: string, names: number): void {
    const key = keyOf(word, word.length);
    let shelf = this.#shelves.get(key);
    if (shelf === undefined) {
      shelf = { words: [], letters: [], names: [] };
      this.#shelves.set(key, shelf);
      this.#longest = Math.max(this.#longest, word.length);
    }
    if (shelf.words.at(-1) === word) return;
    shelf.words.push(word);
    shelf.letters.push(lettersOf(word));
    shelf.names.push(names);
    this.#size += 1;
  }

  /**
   * Returns for each term whether some name may contain the term. The last term is also known when a word or a legal
   * form begins with it. If one term is unknown, no name contains all terms. While the vocabulary is incomplete, every
   * term counts as known.
   */
  known({ whole, last, ends }: Terms): boolean[] {
    if (!this.#isWhole) return [...whole, last].map(() => true);
    const hasAll = (words: readonly string[]) => words.every((word) => this.#has(word));
    const isKnown = ({ same, parts }: Term) =>
      same.some((word) => this.#has(word)) || (parts.length > 0 && hasAll(parts));
    const goesOn = ({ before, begin }: End) => hasAll(before) && !this.#from(begin).next().done;
    return [...whole.map(isKnown), isKnown(last) || mayBeginForm(ends[0]!.begin) || ends.some(goesOn)];
  }

  #has(word: string): boolean {
    const words = this.#shelves.get(keyOf(word, word.length))?.words ?? [];
    return words[firstNotBefore(words, word)] === word;
  }

  /**
   * Returns the words that begin with the given letters, shortest first, at most `maxCompletions`. `more` is true when
   * the list may lack words: there are more, or the vocabulary is not complete.
   */
  completions(begin: string): Completions {
    const words: string[] = [];
    for (const { word } of this.#from(begin)) {
      if (words.length === maxCompletions) return { words, more: true };
      words.push(word);
    }
    return { words, more: !this.#isWhole };
  }

  /**
   * Returns the possible first words of the names that begin with the query, and the number of names with such a first
   * word. A query of several words gives only its own first word. A query of one word gives every word that completes
   * it.
   */
  beginnings({ typed }: Terms): Beginnings {
    const words: string[] = [];
    let names = 0;
    for (const each of this.#from(typed[0]!)) {
      if (typed.length > 1 && each.word !== typed[0]) break;
      if (each.names === 0) continue;
      if (words.length === maxCompletions) return { words, names, more: true };
      words.push(each.word);
      names += each.names;
    }
    return { words, names, more: !this.#isWhole };
  }

  /** Whether the vocabulary is complete. Only a complete vocabulary proves that a word does not exist. */
  get #isWhole(): boolean {
    return this.#size > 0 && this.#size < maxWords;
  }

  /** Words that begin with the given letters, however many, the shortest first. */
  *beginningWith(begin: string): Generator<string> {
    for (const { word } of this.#from(begin)) yield word;
  }

  *#from(begin: string): Generator<{ word: string; names: number }> {
    for (let length = begin.length; length <= this.#longest; length += 1) {
      const shelf = this.#shelves.get(keyOf(begin, length));
      if (shelf === undefined) continue;
      for (let at = firstNotBefore(shelf.words, begin); shelf.words[at]?.startsWith(begin) === true; at += 1)
        yield { word: shelf.words[at]!, names: shelf.names[at]! };
    }
  }

  /**
   * Returns the nearest words of each term that may be mistyped (`editsAllowed`), fewest edits first. Only the first
   * `maxMistypedWords` of these terms get near words.
   */
  nearWords({ whole, last }: Terms): NearWords[] {
    return [...whole, last]
      .map(({ word }, term) => ({ word, term, most: editsAllowed(word) }))
      .filter(({ most }) => most > 0)
      .slice(0, maxMistypedWords)
      .flatMap(({ word, term, most }) => this.#near(word, most).map((near) => ({ term, ...near })));
  }

  /**
   * Compares only words with the same first letter, a twentieth of all, because almost nobody mistypes the first
   * letter.
   */
  #near(typed: string, most: number): { word: string; edits: number }[] {
    const near: { word: string; edits: number }[] = [];
    const letters = lettersOf(typed);
    for (let length = typed.length - most; length <= typed.length + most; length += 1) {
      const shelf = this.#shelves.get(keyOf(typed, length));
      if (shelf === undefined) continue;
      for (let at = 0; at < shelf.words.length; at += 1) {
        const others = shelf.letters[at]!;
        // One edit removes at most one letter and adds at most one. So a word is skipped if it lacks more than `most`
        // of the typed letters, or has more than `most` other letters.
        if (countBits(letters & ~others) > most || countBits(others & ~letters) > most) continue;
        const word = shelf.words[at]!;
        const edits = editsBetween(typed, word, most);
        if (edits > 0 && edits <= most) near.push({ word, edits });
      }
    }
    return near
      .sort((one, other) => one.edits - other.edits || (one.word < other.word ? -1 : 1))
      .slice(0, maxNearWords);
  }
}

function keyOf(word: string, length: number): string {
  return `${word[0]}${length}`;
}

function firstNotBefore(words: readonly string[], begin: string): number {
  let low = 0;
  let high = words.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (words[middle]! < begin) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns one bit for each letter that a word has. Some digits share a letter's bit, so two words may look closer than
 * they are. `#near` then counts their edits in vain.
 */
function lettersOf(word: string): number {
  let letters = 0;
  for (let at = 0; at < word.length; at += 1) letters |= 1 << ((word.charCodeAt(at) - 65) & 31);
  return letters;
}

function countBits(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

/** Three rows of the table of edits in editsBetween. Calls reuse them, because a search compares thousands of words. */
let rows = Array.from({ length: 3 }, () => new Array<number>(64).fill(0));

/**
 * Returns the number of edits between two words, or `most` + 1 when there are more than `most`. An edit inserts, leaves
 * out or replaces a letter, or swaps two neighbours. No letter is edited twice (optimal string alignment). Only cells
 * within `most` places of the diagonal are computed, because all other cells need more edits.
 */
export function editsBetween(one: string, other: string, most: number): number {
  const tooMany = most + 1;
  if (Math.abs(one.length - other.length) > most) return tooMany;
  if (rows[0]!.length < other.length + 2) rows = rows.map(() => new Array<number>(other.length + 2).fill(0));
  let [beforeLast, last, current] = rows as [number[], number[], number[]];
  for (let column = 0; column <= Math.min(other.length, most) + 1; column += 1) last[column] = column;
  for (let row = 1; row <= one.length; row += 1) {
    const from = Math.max(1, row - most);
    const to = Math.min(other.length, row + most);
    current[from - 1] = from === 1 ? row : tooMany;
    let least = current[from - 1]!;
    const letter = one.charCodeAt(row - 1);
    const letterBefore = one.charCodeAt(row - 2);
    for (let column = from; column <= to; column += 1) {
      const otherLetter = other.charCodeAt(column - 1);
      let edits = last[column - 1]! + (letter === otherLetter ? 0 : 1);
      if (last[column]! + 1 < edits) edits = last[column]! + 1;
      if (current[column - 1]! + 1 < edits) edits = current[column - 1]! + 1;
      const isSwapped =
        row > 1 && column > 1 && letter === other.charCodeAt(column - 2) && letterBefore === otherLetter;
      if (isSwapped && beforeLast[column - 2]! + 1 < edits) edits = beforeLast[column - 2]! + 1;
      current[column] = edits;
      if (edits < least) least = edits;
    }
    current[to + 1] = tooMany;
    if (least > most) return tooMany;
    [beforeLast, last, current] = [last, current, beforeLast];
  }
  return Math.min(last[other.length]!, tooMany);
}
