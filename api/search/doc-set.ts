/** A set of names of one index, by their positions there: one bit for each name. */
export class DocSet {
  readonly #bits: Uint32Array;
  readonly #size: number;

  /** @param size number of names in the index */
  constructor(size: number) {
    this.#bits = new Uint32Array((size + 31) >>> 5);
    this.#size = size;
  }

  clear(): this {
    this.#bits.fill(0);
    return this;
  }

  /** Makes the set contain all names. */
  fill(): this {
    this.#bits.fill(0xffffffff);
    const rest = this.#size & 31;
    if (rest > 0) this.#bits[this.#bits.length - 1] = 2 ** rest - 1;
    return this;
  }

  addAll(docs: Uint32Array): this {
    const bits = this.#bits;
    for (let at = 0; at < docs.length; at += 1) bits[docs[at]! >>> 5]! |= 1 << (docs[at]! & 31);
    return this;
  }

  add(doc: number): void {
    this.#bits[doc >>> 5]! |= 1 << (doc & 31);
  }

  has(doc: number): boolean {
    return (this.#bits[doc >>> 5]! & (1 << (doc & 31))) !== 0;
  }

  /** Keeps only what is also in `other`. */
  and(other: DocSet): this {
    const [bits, others] = [this.#bits, other.#bits];
    for (let at = 0; at < bits.length; at += 1) bits[at]! &= others[at]!;
    return this;
  }

  or(other: DocSet): this {
    const [bits, others] = [this.#bits, other.#bits];
    for (let at = 0; at < bits.length; at += 1) bits[at]! |= others[at]!;
    return this;
  }

  /** Visits the positions in ascending order, until `visit` returns false. */
  each(visit: (doc: number) => boolean): void {
    const bits = this.#bits;
    for (let at = 0; at < bits.length; at += 1) {
      for (let rest = bits[at]!; rest !== 0; rest &= rest - 1) {
        if (!visit((at << 5) + 31 - Math.clz32(rest & -rest))) return;
      }
    }
  }
}
