/** Reads RowBinary as simply as possible. The writer is tested against it. */
export class RowBinaryReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }
  atEnd(): boolean {
    return this.#at === this.#bytes.length;
  }
  uint8(): number {
    return this.#bytes.readUInt8(this.#at++);
  }
  uint64(): number {
    const value = this.#bytes.readBigUInt64LE(this.#at);
    this.#at += 8;
    return Number(value);
  }
  string(): string {
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.uint8();
      length += (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    this.#at += length;
    return this.#bytes.toString('utf8', this.#at - length, this.#at);
  }
  nullable<Value>(read: () => Value): Value | null {
    return this.uint8() === 1 ? null : read();
  }
}
