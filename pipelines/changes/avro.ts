import { UndecodableRecord } from './errors.ts';

/**
 * Reads Avro's binary encoding (specification 1.11) in place. Only `string` makes an object. Beyond the end of the
 * buffer, bytes read as 0 and cause no error. So callers must compare `at` with `end` after each record. No number in
 * our schemas is above 2⁵³.
 */
export class AvroCursor {
  bytes: Buffer = Buffer.alloc(0);
  at = 0;
  end = 0;

  reset(bytes: Buffer, start: number, end: number): void {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
  }

  /** Reads a long in zigzag encoding. @throws UndecodableRecord if the long takes more than eight bytes */
  long(): number {
    const { bytes } = this;
    let byte = bytes[this.at++]!;
    if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1);
    let low = byte & 0x7f;
    let scale = 128;
    // Bit shifts work on 32 bits only, so each group of seven bits is multiplied by `scale`. Eight groups hold 56 bits.
    for (let groups = 1; groups < 8; groups += 1) {
      byte = bytes[this.at++]!;
      low += (byte & 0x7f) * scale;
      if ((byte & 0x80) === 0) return low % 2 === 0 ? low / 2 : -(low + 1) / 2;
      scale *= 128;
    }
    throw new UndecodableRecord('a number of more than 53 bits');
  }

  /** Reads the branch of a union of null and one type. Returns false for null. */
  isThere(): boolean {
    const branch = this.long();
    if (branch !== 0 && branch !== 1) throw new UndecodableRecord('a union branch that does not exist');
    return branch === 1;
  }

  /** Reads the length of the next string and moves the cursor to the string's first byte. */
  stringLength(): number {
    const length = this.long();
    if (length < 0 || this.at + length > this.end) throw new UndecodableRecord('a string longer than its record');
    return length;
  }

  skipString(): void {
    const length = this.stringLength();
    this.at += length;
  }

  string(): string {
    const length = this.stringLength();
    this.at += length;
    return this.bytes.toString('utf8', this.at - length, this.at);
  }

  /** @throws UndecodableRecord if the cursor is not at the end of its bytes */
  finish(): void {
    if (this.at !== this.end) throw new UndecodableRecord('not as long as its schema says');
  }
}

/**
 * Writes a number from 0 to 2⁵² as an Avro long: zigzag, seven bits a byte. Kafka's varint has this form too. Returns
 * the position after the number.
 */
export function writeLong(to: Uint8Array, at: number, value: number): number {
  let end = at;
  if (value < 2 ** 30) return writeVarint(to, at, value << 1);
  let rest = value * 2;
  while (rest >= 0x80) {
    to[end++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  to[end++] = rest;
  return end;
}

export function encodeLong(value: number): Buffer {
  const bytes = Buffer.alloc(10);
  return bytes.subarray(0, writeLong(bytes, 0, value));
}

/** Number of bytes that `writeLong` writes for a number below 2³⁰. */
export function sizeOfLong(value: number): number {
  return sizeOfVarint(value << 1);
}

/**
 * Writes a number from 0 to 2³¹ as ClickHouse writes lengths: seven bits a byte, no zigzag. Returns the position after
 * the number.
 */
export function writeVarint(to: Uint8Array, at: number, value: number): number {
  let end = at;
  let rest = value;
  // This loop shifts bits, because `%` on floating-point numbers takes as long as all other work on a record.
  for (; rest >= 0x80; rest >>>= 7) to[end++] = (rest & 0x7f) | 0x80;
  to[end++] = rest;
  return end;
}

export function sizeOfVarint(value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
}

/** Returns the position after the varint at `start`. */
export function skipVarint(bytes: Uint8Array, start: number): number {
  let at = start;
  while (bytes[at]! >= 0x80) at += 1;
  return at + 1;
}

/** Writes `length` bytes of UTF-8 as an Avro string. Returns the position after the string. */
export function writeString(to: Uint8Array, at: number, bytes: Uint8Array, start: number, length: number): number {
  const first = writeLong(to, at, length);
  for (let index = 0; index < length; index += 1) to[first + index] = bytes[start + index]!;
  return first + length;
}

/** Writes the branch of a union of null and one type. Returns the position after the branch. */
export function writeBranch(to: Uint8Array, at: number, isThere: boolean): number {
  to[at] = isThere ? 2 : 0;
  return at + 1;
}

export function writeNullableLong(to: Uint8Array, at: number, value: number | null): number {
  const next = writeBranch(to, at, value !== null);
  return value === null ? next : writeLong(to, next, value);
}
