import { mayBeginForm } from '../../schemas/legal-forms.ts';
import type { Beginnings, Completions, NearWords } from './statements.ts';
import { editsAllowed, type Term, type Terms } from './terms.ts';

/** Those beyond neither end a word nor stand for a mistyped one. Some 60 bytes of memory each. */
export const maxWords = 2_000_000;
/** Where more words begin so, names with one of them are so many that the best are soon found. */
const maxCompletions = 600;
const maxNearWords = 40;
/** Words of one query that are searched with errors; further ones must be right. */
const maxMistypedWords = 8;

/**
 * Words of one first letter and one length, in order; `letters` has a bit for each letter that a word holds, `names` counts the
 * names that begin with it.
 */
interface Shelf {
  words: string[];
  letters: number[];
  names: number[];
}

/**
 * All words of companies' names, in memory: the ends and the typing errors of words are found in less than a millisecond, where
 * the store spends one on any query. Shelves by first letter and length give both without a look at most words.
 */
export class Vocabulary {
  readonly #shelves = new Map<string, Shelf>();
  #longest = 0;
  #size = 0;

  /** Words come in order; one that came just before is passed over. */
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
   * Of each word that was typed: whether a name may have it, or what it stands for; of the last, whether one may go on so. Where one
   * is not known no name has them all.
   */
  known({ whole, last }: Terms): boolean[] {
    if (!this.#isWhole) return [...whole, last].map(() => true);
    const isKnown = ({ same }: Term) => same.some((word) => this.#has(word));
    return [...whole.map(isKnown), isKnown(last) || mayBeginForm(last.word) || this.#begins(last.word)];
  }

  #has(word: string): boolean {
    const words = this.#shelves.get(keyOf(word, word.length))?.words ?? [];
    return words[firstNotBefore(words, word)] === word;
  }

  #begins(word: string): boolean {
    return this.#from(word).next().done === false;
  }

  /** The shortest words that begin so. */
  completions(begin: string): Completions {
    const words: string[] = [];
    for (const { word } of this.#from(begin)) {
      if (words.length === maxCompletions) return { words, more: true };
      words.push(word);
    }
    return { words, more: !this.#isWhole };
  }

  /** Words with which names begin that go on from what was typed: of several words the first, of one all its ends. */
  beginnings({ whole, last }: Terms): Beginnings {
    const words: string[] = [];
    let names = 0;
    for (const each of this.#from(whole[0]?.word ?? last.word)) {
      if (whole.length > 0 && each.word !== whole[0]!.word) break;
      if (each.names === 0) continue;
      if (words.length === maxCompletions) return { words, names, more: true };
      words.push(each.word);
      names += each.names;
    }
    return { words, names, more: !this.#isWhole };
  }

  /** Without words, or not with all of them, nothing can be said of what there is not. */
  get #isWhole(): boolean {
    return this.#size > 0 && this.#size < maxWords;
  }

  /** Words that begin so, the shortest first. */
  *#from(begin: string): Generator<{ word: string; names: number }> {
    for (let length = begin.length; length <= this.#longest; length += 1) {
      const shelf = this.#shelves.get(keyOf(begin, length));
      if (shelf === undefined) continue;
      for (let at = firstNotBefore(shelf.words, begin); shelf.words[at]?.startsWith(begin) === true; at += 1)
        yield { word: shelf.words[at]!, names: shelf.names[at]! };
    }
  }

  /** The nearest words of each that was typed, fewest edits first. */
  nearWords({ whole, last }: Terms): NearWords[] {
    return [...whole, last]
      .map(({ word }, term) => ({ word, term, most: editsAllowed(word) }))
      .filter(({ most }) => most > 0)
      .slice(0, maxMistypedWords)
      .flatMap(({ word, term, most }) => this.#near(word, most).map((near) => ({ term, ...near })));
  }

  /** The first letter stands: almost nobody mistypes it, and it leaves a twentieth of the words to compare. */
  #near(typed: string, most: number): { word: string; edits: number }[] {
    const near: { word: string; edits: number }[] = [];
    const letters = lettersOf(typed);
    for (let length = typed.length - most; length <= typed.length + most; length += 1) {
      const shelf = this.#shelves.get(keyOf(typed, length));
      if (shelf === undefined) continue;
      for (let at = 0; at < shelf.words.length; at += 1) {
        const others = shelf.letters[at]!;
        // An edit takes away at most one letter and brings at most one.
        if (countBits(letters & ~others) > most || countBits(others & ~letters) > most) continue;
        const word = shelf.words[at]!;
        const edits = editsBetween(typed, word, most);
        if (edits > 0 && edits <= most) near.push({ word, edits });
      }
    }
    return near.sort(byEditsAndWord).slice(0, maxNearWords);
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

/** Digits share bits with letters: that only lets more words through. */
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

function byEditsAndWord(one: { word: string; edits: number }, other: { word: string; edits: number }): number {
  if (one.edits !== other.edits) return one.edits - other.edits;
  return one.word < other.word ? -1 : 1;
}

/** Rows of the table of edits, used by one call after another: a search compares thousands of words. */
let rows = Array.from({ length: 3 }, () => new Array<number>(64).fill(0));

/**
 * Edits between two words: a letter put in, left out or written for another, or two neighbours changed for each other, no
 * letter edited twice (optimal string alignment). More than `most` is told as most + 1, and found out early: beyond `most` places
 * off the diagonal there are only more edits.
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
