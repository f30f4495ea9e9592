import { expansionsOf, spelledOut } from './abbreviations.ts';

/** A part of a name that is found as a whole, such as a word, initials or a number with its letter. */
export interface Span {
  /** The ways to write the span as one word, the usual one first. A query with any of these words finds the span. */
  spellings: readonly string[];
  /** Its words when it is written apart. All of them together find the span. Empty: nobody writes it apart. */
  parts: readonly string[];
}

/**
 * Words that people leave out, add or exchange for one another. They are not demanded of a name. Migration
 * 0007_name_letters.sql has the same list for rows that an earlier release wrote.
 */
const connectors: ReadonlySet<string> = new Set(['DE', 'DEL', 'LA', 'LAS', 'LOS', 'EL', 'EN', 'Y', 'E']);
/** The connectors of one letter, which some people write between two words and others leave out, as they do `&`. */
export const letterConnectors: ReadonlySet<string> = new Set(['Y', 'E']);
const digits = /^[0-9]+$/;
const noParts: readonly string[] = [];

/**
 * Makes the spans of a name.
 * @param words the name's words without its legal form, with N for Ñ. A word that the name wrote with apostrophes or as
 *   dotted initials has `'` between its parts.
 * @param form the words of the legal form. If all are single letters, they may be the end of initials that stand before
 *   them: in CIP S A, the S A was read as a form, but the name may be CIPSA.
 */
export function spansOf(words: readonly string[], form: readonly string[]): Span[] {
  const spans: Span[] = [];
  const end = words.length;
  for (let at = 0; at < end; ) {
    const letters = lettersFrom(words, at);
    if (letters > 0) {
      const joined = at + letters === end && form.length > 0 && form.every(isLetter) ? form.join('') : '';
      if (letters > 1 || joined !== '') {
        spans.push(initials(words, at, letters, joined));
        at += letters;
        continue;
      }
    }
    const taken = numberFrom(words, at);
    if (taken > 1) spans.push({ spellings: [words.slice(at, at + taken).join('')], parts: noParts });
    else if (!isConnector(words, at)) spans.push(spanOf(words[at]!));
    at += taken;
  }
  return spans;
}

/** A connector may be missing in a name. The last word is never one, nor is a Y or E at the start (an initial). */
function isConnector(words: readonly string[], at: number): boolean {
  const word = words[at]!;
  return at < words.length - 1 && connectors.has(word) && (at > 0 || !letterConnectors.has(word));
}

function isLetter(word: string | undefined): boolean {
  return word?.length === 1 && word > '9';
}

/** Counts the single letters from `at` on. */
function lettersFrom(words: readonly string[], at: number): number {
  let count = 0;
  while (isLetter(words[at + count])) count += 1;
  return count;
}

/** Counts the words that belong to the number at `at`: three in `4 X 4`, two in `3 A`, otherwise one. */
export function numberFrom(words: readonly string[], at: number): number {
  const word = words[at]!;
  if (word[0]! > '9' || !digits.test(word) || !isLetter(words[at + 1]) || isConnector(words, at + 1)) return 1;
  return digits.test(words[at + 2] ?? '') ? 3 : 2;
}

/** `A Y B` may be A & B or the initials AYB, so it gets both spellings. */
function initials(words: readonly string[], at: number, count: number, form: string): Span {
  const all = words.slice(at, at + count);
  const kept = all.filter((_, index) => !isConnector(words, at + index));
  const together = all.join('');
  const spellings = new Set([kept.join('') || together, together, together + form]);
  return { spellings: [...spellings], parts: kept.length > 1 ? kept : noParts };
}

function spanOf(word: string): Span {
  const parts = word.includes("'") ? word.split("'") : noParts;
  const spelled = spelledOut(parts.length > 0 ? parts.join('') : word);
  const expansions = expansionsOf(spelled);
  return { spellings: expansions.length === 0 ? [spelled] : [spelled, ...expansions], parts };
}

/**
 * Most parts of a word with apostrophes whose neighbours are also joined: L'HUALLAYO'S is found by LHUALLAYO and
 * HUALLAYOS too.
 */
const maxJoinedParts = 4;

/**
 * Returns the words by which a name is found, each once: its own words, and all spellings and parts of its spans. A
 * single letter is also joined to the word that follows it, and an S to the word before it, because registers write
 * D'PUYAQUE and HUALLAYO'S with a blank too.
 * @param base the name as in `FoldedName.base`
 */
export function searchedWords({ base, spans }: { base: string; spans: readonly Span[] }): string {
  // Most names have no other words, so this saves most of the time.
  if (spans.every(isPlain)) return base;
  const words = new Set(base.split(' '));
  const own = words.size;
  for (let at = 0; at < spans.length; at += 1) {
    const { spellings, parts } = spans[at]!;
    for (const each of spellings) words.add(each);
    for (const each of joinedParts(parts)) words.add(each);
    const word = spellings[0]!;
    if (!isLetter(word)) continue;
    const [before, next, last] = [-1, 1, 2].map((by) => spans[at + by]?.spellings[0]);
    if (next !== undefined) words.add(word + next);
    if (next !== undefined && last === 'S') words.add(word + next + last);
    if (word === 'S' && before !== undefined) words.add(before + word);
  }
  return words.size === own ? base : [...words].join(' ');
}

function isPlain({ spellings, parts }: Span): boolean {
  return spellings.length === 1 && parts.length === 0 && spellings[0]!.length > 1;
}

/**
 * Returns every run of neighbouring parts as one word: A, AB, B of the parts A and B. Initials are found as one word,
 * so a span of single letters gives nothing.
 */
function joinedParts(parts: readonly string[]): readonly string[] {
  if (parts.every(isLetter)) return noParts;
  if (parts.length > maxJoinedParts) return parts;
  return parts.flatMap((_, from) => parts.slice(from).map((__, by) => parts.slice(from, from + by + 1).join('')));
}

/**
 * Returns texts of a name's letters without spaces, one text for each way of spelling its spans (parts of a name, such
 * as a word or initials). Two names that share a text are the same name. The first text has the usual spelling of every
 * span.
 * @param most largest number of texts. If there would be more, only the first two spellings of each span count. If
 *   these still give too many, two texts remain: one of all first spellings and one of all second spellings.
 */
export function lettersOf(spans: readonly Span[], most: number): string[] {
  if (spans.every(({ spellings }) => spellings.length === 1)) {
    let text = '';
    for (const { spellings } of spans) text += spellings[0];
    return [text];
  }
  for (const perSpan of [Infinity, 2]) {
    const count = spans.reduce((product, { spellings }) => product * Math.min(spellings.length, perSpan), 1);
    if (count <= most) return product(spans, perSpan);
  }
  return [0, 1].map((at) => spans.map(({ spellings }) => spellings[at] ?? spellings[0]).join(''));
}

function product(spans: readonly Span[], perSpan: number): string[] {
  let texts = [''];
  for (const { spellings } of spans) {
    if (spellings.length === 1) texts = texts.map((text) => text + spellings[0]);
    else texts = texts.flatMap((text) => spellings.slice(0, perSpan).map((spelling) => text + spelling));
  }
  return [...new Set(texts)];
}
