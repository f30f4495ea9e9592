import type { NameRow } from './name-rows.ts';

/** The number of a shared text is stored in 16 bits. Registers have some 2,000 places and a few dozen other texts. */
const maxSharedTexts = 65_535;

/**
 * A 64-bit hash of a text, in two halves of 32 bits. Names in memory are found by the hashes of their words, because a
 * million words as keys of a Map would take three times the memory. A million words have two of the same hash with a
 * probability of one in 30 million.
 */
export class TextHash {
  one = 0;
  two = 0;

  /** @param text in ASCII, as all folded names are */
  ofText(text: string): this {
    return this.ofBytes(Buffer.from(text, 'latin1'), 0, text.length);
  }

  /** @param left a byte that is left out; -1 for none */
  ofBytes(bytes: Buffer, from: number, to: number, left = -1): this {
    let one = 0x811c9dc5 | 0;
    let two = 0x3243f6a8 | 0;
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at]!;
      if (byte === left) continue;
      one = Math.imul(one ^ byte, 0x01000193);
      two = Math.imul(two ^ byte, 0x5bd1e995) ^ (two >>> 15);
    }
    this.one = one;
    this.two = two;
    return this;
  }
}

/** Numbers the texts that are added, from 0 on. It keeps only their hashes, in 16 to 32 bytes a text. */
export class TextNumbers {
  size = 0;
  /** For each place of the table: a text's number plus 1, or 0. At most half of the places are taken. */
  #places = new Uint32Array(1_024);
  #ones = new Int32Array(512);
  #twos = new Int32Array(512);

  /** Returns the number of a text. A text that is not there is added. */
  add(hash: TextHash): number {
    const place = this.#placeOf(hash.one, hash.two);
    const known = this.#places[place]!;
    if (known > 0) return known - 1;
    if (this.size === this.#ones.length) {
      this.#grow();
      return this.add(hash);
    }
    this.#ones[this.size] = hash.one;
    this.#twos[this.size] = hash.two;
    this.size += 1;
    this.#places[place] = this.size;
    return this.size - 1;
  }

  /** Returns the number of a text, or -1 when it was never added. */
  find({ one, two }: TextHash): number {
    return this.#places[this.#placeOf(one, two)]! - 1;
  }

  #placeOf(one: number, two: number): number {
    const mask = this.#places.length - 1;
    for (let place = (one ^ (one >>> 15)) & mask; ; place = (place + 1) & mask) {
      const known = this.#places[place]! - 1;
      if (known < 0 || (this.#ones[known] === one && this.#twos[known] === two)) return place;
    }
  }

  #grow(): void {
    const [ones, twos] = [this.#ones, this.#twos];
    this.#ones = new Int32Array(2 * ones.length);
    this.#twos = new Int32Array(2 * twos.length);
    this.#ones.set(ones);
    this.#twos.set(twos);
    this.#places = new Uint32Array(2 * this.#places.length);
    for (let number = 0; number < this.size; number += 1)
      this.#places[this.#placeOf(ones[number]!, twos[number]!)] = number + 1;
  }
}

/** Texts that many names share, such as legal forms. Each is stored once. */
export class SharedTexts {
  readonly list: string[] = [];
  readonly #numbers = new TextNumbers();

  add(row: NameRow, which: number, hash: TextHash): number {
    const number = this.#numbers.add(hash.ofBytes(row.bytes, row.from(which), row.to(which)));
    if (number > maxSharedTexts) throw new RangeError(`more than ${maxSharedTexts} different texts in one column`);
    if (number === this.list.length) this.list.push(row.string(which));
    return number;
  }
}
