import { DocSet } from './doc-set.ts';
import { type NameRow, text } from './name-rows.ts';
import { SharedTexts, TextHash, TextNumbers } from './text-hash.ts';
import type { Vocabulary } from './vocabulary.ts';

const space = 32;
/** RUCs of companies are stored without this first digit, in 32 bits. */
const firstCompany = 20_000_000_000;
/** Most bits of a hash by which letters are found. They are checked by 32 further bits. */
const maxLetterBits = 21;
/** So many sets are kept for the next search. A set of two million names takes 300 kB. */
const maxKeptSets = 24;
/** So many sets of names with a word that begins in a certain way are kept, because each tier of a search needs one. */
const maxBeginnings = 8;
const nothing = new Uint32Array(0);

/** All words of names. */
export type Words = Pick<Vocabulary, 'beginningWith'>;

/**
 * Names of companies in memory, in the order of the table `ranked_name`: standing, length, RUC, name. A name is known
 * by its position in this order (`doc`). Add all rows in order, then call `finish`. Two million names take some 200 MB,
 * nearly all of it outside of JavaScript's heap.
 */
export class NameIndex {
  size = 0;
  readonly forms = new SharedTexts();
  readonly estados = new SharedTexts();
  readonly condiciones = new SharedTexts();
  readonly ubigeos = new SharedTexts();
  /** Per doc: the number of its text in the list of the same name. */
  form = new Uint16Array(1_024);
  estado = new Uint16Array(1_024);
  condicion = new Uint16Array(1_024);
  ubigeo = new Uint16Array(1_024);
  standing = new Uint8Array(1_024);
  length = new Uint8Array(1_024);
  #ruc = new Uint32Array(1_024);
  readonly #enie = new Map<number, string>();
  /** All names, one after the other. #nameEnd has the end of each doc's name, which is the start of the next one. */
  #names: Buffer = Buffer.alloc(16_384);
  #nameEnd = new Uint32Array(1_024);

  readonly #words = new TextNumbers();
  /** While rows are added: the number of each word of each doc. Afterwards: the docs of each word. */
  #postings = new Uint32Array(4_096);
  /** While rows are added: where each doc's words end. Later: where each word's docs end. */
  #postingEnd = new Uint32Array(1_024);
  #postingCount = 0;
  /** For each word: how many names begin with it. */
  #begun = new Uint32Array(1_024);
  /** The same for letters, which are found by the first bits of their hash. #letterCheck has 32 further bits. */
  #letters = new Uint32Array(1_024);
  #letterShift = 0;
  #letterCheck = new Int32Array(1_024);
  #letterEnd = new Uint32Array(0);
  #letterDocs = new Uint32Array(1_024);
  #letterCount = 0;
  readonly #hash = new TextHash();
  readonly #sets: DocSet[] = [];
  #setsInUse = 0;
  readonly #beginnings = new Map<string, DocSet>();
  #beginningsOf: Words | null = null;

  add(row: NameRow): void {
    const doc = this.size;
    this.size += 1;
    this.#makeRoom(row);
    const { bytes } = row;
    const [from, to] = [row.from(text.name), row.to(text.name)];
    const start = doc === 0 ? 0 : this.#nameEnd[doc - 1]!;
    bytes.copy(this.#names, start, from, to);
    this.#nameEnd[doc] = start + to - from;
    this.#ruc[doc] = row.ruc - firstCompany;
    this.standing[doc] = row.standing;
    this.length[doc] = row.length;
    this.form[doc] = this.forms.add(row, text.form, this.#hash);
    this.estado[doc] = this.estados.add(row, text.estado, this.#hash);
    this.condicion[doc] = this.condiciones.add(row, text.condicion, this.#hash);
    this.ubigeo[doc] = this.ubigeos.add(row, text.ubigeo, this.#hash);
    if (!row.isEmpty(text.enie)) this.#enie.set(doc, row.string(text.enie));
    const words = row.isEmpty(text.words) ? text.name : text.words;
    this.#addWords(bytes, row.from(words), row.to(words));
    const before = doc === 0 ? 0 : this.#postingEnd[doc - 1]!;
    this.#begun[this.#postings[before]!]! += 1;
    this.#postingEnd[doc] = this.#postingCount;
    if (row.isEmpty(text.letters)) this.#addLetters(this.#hash.ofBytes(bytes, from, to, space), doc);
    else for (const each of row.string(text.letters).split(' ')) this.#addLetters(this.#hash.ofText(each), doc);
  }

  /** Sorts what was added by word and by letters. Nothing can be added afterwards. */
  finish(): void {
    const { size } = this;
    const wordEnd = new Uint32Array(this.#words.size);
    for (let at = 0; at < this.#postingCount; at += 1) wordEnd[this.#postings[at]!]! += 1;
    const docs = new Uint32Array(this.#postingCount);
    startsOf(wordEnd);
    for (let doc = 0, at = 0; doc < size; doc += 1) {
      for (; at < this.#postingEnd[doc]!; at += 1) {
        const word = this.#postings[at]!;
        docs[wordEnd[word]!] = doc;
        wordEnd[word]! += 1;
      }
    }
    this.#postings = docs;
    this.#postingEnd = wordEnd;

    const bits = Math.min(maxLetterBits, 33 - Math.clz32(this.#letterCount));
    this.#letterShift = 32 - bits;
    const letterEnd = new Uint32Array(2 ** bits);
    const groupOf = (at: number) => this.#letters[at]! >>> this.#letterShift;
    for (let at = 0; at < this.#letterCount; at += 1) letterEnd[groupOf(at)]! += 1;
    startsOf(letterEnd);
    const checks = new Int32Array(this.#letterCount);
    const letterDocs = new Uint32Array(this.#letterCount);
    for (let at = 0; at < this.#letterCount; at += 1) {
      const place = letterEnd[groupOf(at)]!;
      checks[place] = this.#letterCheck[at]!;
      letterDocs[place] = this.#letterDocs[at]!;
      letterEnd[groupOf(at)]! += 1;
    }
    this.#letters = nothing;
    this.#letterEnd = letterEnd;
    this.#letterCheck = checks;
    this.#letterDocs = letterDocs;
  }

  /** Returns the docs of names that have a word, ascending. */
  docsOf(word: string): Uint32Array {
    const number = this.#words.find(this.#hash.ofText(word));
    if (number < 0) return nothing;
    return this.#postings.subarray(number === 0 ? 0 : this.#postingEnd[number - 1]!, this.#postingEnd[number]!);
  }

  /** Returns the number of names whose first word is `word`. */
  begunBy(word: string): number {
    const number = this.#words.find(this.#hash.ofText(word));
    return number < 0 ? 0 : this.#begun[number]!;
  }

  /** Returns the docs of names that have one of the texts of letters (`lettersOf`), ascending and each once. */
  docsOfLetters(texts: readonly string[]): number[] {
    const docs = new Set<number>();
    for (const each of texts) {
      const { one, two } = this.#hash.ofText(each);
      const group = one >>> this.#letterShift;
      for (let at = group === 0 ? 0 : this.#letterEnd[group - 1]!; at < this.#letterEnd[group]!; at += 1) {
        if (this.#letterCheck[at] === two) docs.add(this.#letterDocs[at]!);
      }
    }
    return [...docs].sort((a, b) => a - b);
  }

  /** Returns the names with a word that begins with `begin`. The set is kept for later searches: do not change it. */
  docsBeginning(begin: string, vocabulary: Words): DocSet {
    if (vocabulary !== this.#beginningsOf) this.#beginnings.clear();
    this.#beginningsOf = vocabulary;
    const known = this.#beginnings.get(begin);
    if (known !== undefined) return known;
    const set = new DocSet(this.size);
    for (const word of vocabulary.beginningWith(begin)) set.addAll(this.docsOf(word));
    if (this.#beginnings.size === maxBeginnings) this.#beginnings.delete(this.#beginnings.keys().next().value!);
    this.#beginnings.set(begin, set);
    return set;
  }

  /** Returns an empty set. It may be used until `beginSearch` is called. */
  newSet(): DocSet {
    const set = this.#sets[this.#setsInUse] ?? new DocSet(this.size);
    if (this.#setsInUse < maxKeptSets) this.#sets[this.#setsInUse] = set.clear();
    this.#setsInUse += 1;
    return set;
  }

  /** Takes back the sets of the last search. A search runs without a pause, so there is only one at a time. */
  beginSearch(): void {
    this.#setsInUse = 0;
  }

  ruc(doc: number): number {
    return firstCompany + this.#ruc[doc]!;
  }

  enie(doc: number): string {
    return this.#enie.get(doc) ?? '';
  }

  name(doc: number): string {
    return this.#names.toString('latin1', this.#nameStart(doc), this.#nameEnd[doc]);
  }

  beginsWith(doc: number, beginning: Buffer): boolean {
    const start = this.#nameStart(doc);
    if (start + beginning.length > this.#nameEnd[doc]!) return false;
    for (let at = 0; at < beginning.length; at += 1) {
      if (this.#names[start + at] !== beginning[at]) return false;
    }
    return true;
  }

  isName(doc: number, name: Buffer): boolean {
    return this.#nameEnd[doc]! - this.#nameStart(doc) === name.length && this.beginsWith(doc, name);
  }

  /** Returns the doc with a row's key, or -1. */
  find(row: NameRow): number {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(middle, row) < 0) low = middle + 1;
      else high = middle;
    }
    return low < this.size && this.#compare(low, row) === 0 ? low : -1;
  }

  #compare(doc: number, row: NameRow): number {
    const first = this.standing[doc]! - row.standing || this.length[doc]! - row.length || this.ruc(doc) - row.ruc;
    if (first !== 0) return first;
    const [from, to] = [row.from(text.name), row.to(text.name)];
    return this.#names.compare(row.bytes, from, to, this.#nameStart(doc), this.#nameEnd[doc]);
  }

  #nameStart(doc: number): number {
    return doc === 0 ? 0 : this.#nameEnd[doc - 1]!;
  }

  #addWords(bytes: Buffer, from: number, to: number): void {
    for (let start = from; start < to; ) {
      let end = start;
      while (end < to && bytes[end] !== space) end += 1;
      const number = this.#words.add(this.#hash.ofBytes(bytes, start, end));
      if (number === this.#begun.length) this.#begun = larger(this.#begun);
      if (this.#postingCount === this.#postings.length) this.#postings = larger(this.#postings);
      this.#postings[this.#postingCount] = number;
      this.#postingCount += 1;
      start = end + 1;
    }
  }

  #addLetters({ one, two }: TextHash, doc: number): void {
    if (this.#letterCount === this.#letters.length) {
      this.#letters = larger(this.#letters);
      this.#letterCheck = larger(this.#letterCheck);
      this.#letterDocs = larger(this.#letterDocs);
    }
    this.#letters[this.#letterCount] = one;
    this.#letterCheck[this.#letterCount] = two;
    this.#letterDocs[this.#letterCount] = doc;
    this.#letterCount += 1;
  }

  #makeRoom(row: NameRow): void {
    const end = this.size > 1 ? this.#nameEnd[this.size - 2]! : 0;
    if (end + row.to(text.name) - row.from(text.name) > this.#names.length) {
      const more = Buffer.alloc(2 * this.#names.length);
      this.#names.copy(more);
      this.#names = more;
    }
    if (this.size <= this.#ruc.length) return;
    this.form = larger(this.form);
    this.estado = larger(this.estado);
    this.condicion = larger(this.condicion);
    this.ubigeo = larger(this.ubigeo);
    this.standing = larger(this.standing);
    this.length = larger(this.length);
    this.#ruc = larger(this.#ruc);
    this.#nameEnd = larger(this.#nameEnd);
    this.#postingEnd = larger(this.#postingEnd);
  }
}

/** Turns the number of elements of each group into the place where the group starts. */
function startsOf(counts: Uint32Array): void {
  let start = 0;
  for (let at = 0; at < counts.length; at += 1) {
    const count = counts[at]!;
    counts[at] = start;
    start += count;
  }
}

/** The system gives pages of the new half only when they are written, so an array's unused end takes no memory. */
function larger<Numbers extends Uint8Array | Uint16Array | Uint32Array | Int32Array>(numbers: Numbers): Numbers {
  const more = new (numbers.constructor as new (length: number) => Numbers)(2 * numbers.length);
  more.set(numbers);
  return more;
}
