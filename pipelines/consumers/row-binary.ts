import { type AvroCursor, sizeOfVarint, writeVarint } from '../changes/avro.ts';
import { UndecodableRecord } from '../changes/errors.ts';

const quote = 0x22;
const backslash = 0x5c;
const hexadecimal = Buffer.from('0123456789abcdef');
/** For each control byte: the character that JSON.stringify writes after the backslash, or 0 for the form \u00XX. */
const shortEscapes = new Uint8Array(32);
for (const [byte, letter] of [
  [8, 'b'],
  [9, 't'],
  [10, 'n'],
  [12, 'f'],
  [13, 'r'],
] as const) {
  shortEscapes[byte] = letter.charCodeAt(0);
}
/** For each byte: 1 if it needs no escape in a JSON string, else 0. */
const plain = new Uint8Array(256).fill(1);
plain.fill(0, 0, 32);
plain[quote] = 0;
plain[backslash] = 0;

const mostPerByte = 6;
/** Most UTF-8 bytes that one UTF-16 code unit can take. */
const mostBytesPerUnit = 3;
/** A cell of a JSON array has two quotes and a comma besides its text. */
const mostPerCell = 3;
/** A JSON array has two brackets and a length of up to five bytes besides its cells. One more byte is spare. */
const mostAround = 8;

/** Writes rows in ClickHouse's RowBinary format into one buffer. The buffer grows when needed and is used again. */
export class RowBinaryWriter {
  #bytes: Buffer;
  #at = 0;
  rows = 0;

  constructor(firstBytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(firstBytes);
  }

  clear(): void {
    this.#at = 0;
    this.rows = 0;
  }

  /** Returns the written bytes without a copy. They are valid until the next write or clear. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  position(): number {
    return this.#at;
  }

  /** Appends the bytes of another writer, from `position` in that writer to the end. Call `reserve` first. */
  copy(other: RowBinaryWriter, position: number): void {
    this.#at += other.#bytes.copy(this.#bytes, this.#at, position, other.#at);
  }

  /** Makes room for more bytes. Call it before each write below; only `text` and `jsonArray` make their own room. */
  reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }

  uint8(value: number): void {
    this.#bytes[this.#at++] = value;
  }

  /** Writes a UInt64 up to 2^53. The bytes of a positive Int64 are the same. */
  uint64(value: number): void {
    this.#at = this.#bytes.writeUInt32LE(value % 0x1_0000_0000, this.#at);
    this.#at = this.#bytes.writeUInt32LE(Math.floor(value / 0x1_0000_0000), this.#at);
  }

  emptyString(): void {
    this.#bytes[this.#at++] = 0;
  }

  /** Writes a String. It needs no call of `reserve` before. @throws UndecodableRecord for a string above 2 MB */
  text(value: string): void {
    this.reserve(value.length * mostBytesPerUnit + mostAround);
    const lengthAt = this.#at;
    const end = lengthAt + 2 + this.#bytes.write(value, lengthAt + 2);
    this.#at = finishLength(this.#bytes, lengthAt, end);
  }

  /**
   * Reads `cells` Avro strings at the cursor and writes them as one String: a JSON array, byte for byte as
   * JSON.stringify would write it.
   * @throws UndecodableRecord if a string does not end within its record, or if the array has more than 2 MB
   */
  jsonArray(cursor: AvroCursor, cells: number): void {
    this.reserve((cursor.end - cursor.at) * mostPerByte + cells * mostPerCell + mostAround);
    const target = this.#bytes;
    const source = cursor.bytes;
    // The length stands before the text, but is known only after the text. Two bytes stay free for the length, because
    // most rows (128 bytes to 16 kB) need two.
    const lengthAt = this.#at;
    let at = lengthAt + 2;
    target[at++] = 0x5b;
    for (let cell = 0; cell < cells; cell += 1) {
      if (cell > 0) target[at++] = 0x2c;
      target[at++] = quote;
      const end = cursor.stringLength() + cursor.at;
      let from = cursor.at;
      for (; from < end; from += 1) {
        const byte = source[from]!;
        if (plain[byte] === 1) target[at++] = byte;
        else at = writeEscape(target, at, byte);
      }
      cursor.at = end;
      target[at++] = quote;
    }
    target[at++] = 0x5d;
    this.#at = finishLength(target, lengthAt, at);
  }
}

function writeEscape(target: Buffer, start: number, byte: number): number {
  let at = start;
  target[at++] = backslash;
  if (byte >= 32) {
    target[at++] = byte;
    return at;
  }
  const short = shortEscapes[byte]!;
  if (short !== 0) {
    target[at++] = short;
    return at;
  }
  target[at++] = 0x75;
  target[at++] = 0x30;
  target[at++] = 0x30;
  target[at++] = hexadecimal[byte >>> 4]!;
  target[at++] = hexadecimal[byte & 15]!;
  return at;
}

/**
 * Writes the length of a text at `lengthAt`, as LEB128, and returns the end of the text. The text begins two bytes
 * after `lengthAt`. The text moves if its length does not take two bytes.
 */
function finishLength(target: Buffer, lengthAt: number, end: number): number {
  const length = end - lengthAt - 2;
  const size = sizeOfVarint(length);
  if (length >= 0x20_0000) throw new UndecodableRecord('a row of more than 2 MB');
  if (size !== 2) target.copyWithin(lengthAt + size, lengthAt + 2, end);
  writeVarint(target, lengthAt, length);
  return end - 2 + size;
}
