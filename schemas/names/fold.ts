import { spelledOut } from './abbreviations.ts';
import { splitLegalForm } from './legal-forms.ts';
import { letterConnectors, numberFrom, type Span, spansOf } from './spans.ts';

/** A name in the form in which it is searched. The unchanged name is stored for display. */
export interface FoldedName {
  /** Words without the legal form, separated by one space, with N for Ñ. */
  base: string;
  /** The legal form, for example `SAC` or `EIRL EN LIQUIDACION`. Empty: the name has no form. */
  form: string;
  /** The name's words that have an Ñ, with their Ñ. If a caller types an Ñ, names with the same Ñ rank first. */
  enie: string;
  /** The parts that a search looks for (words, initials, numbers) with their spellings; no connectors such as DE. */
  spans: readonly Span[];
}

/** Signs that join the letters beside them. Registers and people often write an accent where an apostrophe belongs. */
const apostrophes = /(?<=[A-ZÑ0-9])['´`’‘ʼ′¨]+(?=[A-ZÑ0-9])/g;
const otherSigns = /(?<![A-ZÑ0-9])['´`’‘ʼ′¨]+|['´`’‘ʼ′¨]+(?![A-ZÑ0-9])|["“”«»]/g;
const hasSign = /['´`’‘ʼ′¨"“”«»]/;
/** foldName writes this sign for an apostrophe or the dots of initials, because the letters around it are one word. */
const joint = "'";
const dottedInitials = /(?<![A-ZÑ0-9'])(?:[A-ZÑ]\.){2,}[A-ZÑ]?(?![A-ZÑ0-9'])/g;
const letterOrDigit = /[A-ZÑ0-9]+/g;
const word = /[A-ZÑ0-9]+(?:'[A-ZÑ0-9]+)*/g;
const needsNormalization = /[^\x20-\x7e]/;
const joinedEnie = /N\u0303/g;
const marks = /\p{Mn}/gu;

/**
 * Brings a name into the form in which it is searched. Names in registers and names in searches change alike. This
 * folder's README has the rules. After you change them, run `padron rebuild`, so that the stored names are made again.
 */
export function foldName(name: string): FoldedName {
  const jointed = jointedWords(name);
  const whole = jointed.some((each) => each.includes(joint)) ? jointed.map(withoutJoints) : jointed;
  const { words: head, form } = splitLegalForm(whole, name.length);
  const words = joinNumbers(withoutConnectors(head)).map(spelledOut);
  const text = words.join(' ');
  const hasEnie = text.includes('Ñ');
  const plain = hasEnie ? jointed.map(withoutEnie) : jointed;
  const spans = spansOf(plain.slice(0, head.length), plain.slice(head.length));
  if (!hasEnie) return { base: text, form, enie: '', spans };
  return { base: withoutEnie(text), form, enie: words.filter((each) => each.includes('Ñ')).join(' '), spans };
}

/** Counts the letters and digits of a text. Spaces, signs and accents do not count. */
export function significantCharacters(text: string): number {
  return (capitals(text).match(letterOrDigit) ?? []).reduce((sum, each) => sum + each.length, 0);
}

/** Returns the words of a name. Where a word had apostrophes or dots between its letters, it has a `joint` there. */
function jointedWords(name: string): readonly string[] {
  let text = capitals(name);
  if (hasSign.test(text)) text = text.replace(apostrophes, joint).replace(otherSigns, '');
  if (text.includes('.'))
    text = text.replace(dottedInitials, (initials) => [...initials.replaceAll('.', '')].join(joint));
  return text.match(word) ?? [];
}

function withoutJoints(text: string): string {
  return text.replaceAll(joint, '');
}

function withoutEnie(text: string): string {
  return text.replaceAll('Ñ', 'N');
}

function capitals(text: string): string {
  const upper = text.toUpperCase();
  // Most names are plain ASCII and need no normalization, which costs more than all other steps.
  if (!needsNormalization.test(upper)) return upper;
  return upper.normalize('NFD').replace(joinedEnie, 'Ñ').replace(marks, '');
}

function withoutConnectors(words: readonly string[]): readonly string[] {
  const last = words.length - 1;
  return words.filter((each, index) => index === 0 || index === last || !letterConnectors.has(each));
}

/** Joins numbers with single letters: `3 A` becomes `3A`, and `4 X 4` becomes `4X4`. */
function joinNumbers(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (let at = 0; at < words.length; ) {
    const taken = numberFrom(words, at);
    joined.push(taken === 1 ? words[at]! : words.slice(at, at + taken).join(''));
    at += taken;
  }
  return joined;
}
