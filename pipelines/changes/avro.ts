import { UndecodableRecord } from './errors.ts';

/**
 * Reads Avro's binary encoding (specification 1.11) in place, without making objects or strings. Past the end of
 * damaged bytes every byte reads as 0: a reader therefore compares `at` with `end` where its record ends. Our schemas
 * have no numbers above 2⁵³.
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

  /** A zigzag long. @throws UndecodableRecord above 53 bits */
  long(): number {
    const { bytes } = this;
    let byte = bytes[this.at++]!;
    if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1);
    let low = byte & 0x7f;
    let scale = 128;
    // Shifts wrap beyond 31 bits, so the groups of seven bits are multiplied; eight groups are 2⁵⁶.
    for (let groups = 1; groups < 8; groups += 1) {
      byte = bytes[this.at++]!;
      low += (byte & 0x7f) * scale;
      if ((byte & 0x80) === 0) return low % 2 === 0 ? low / 2 : -(low + 1) / 2;
      scale *= 128;
    }
    throw new UndecodableRecord('a number of more than 53 bits');
  }

  /** The branch of a union of null and one type: false for null. */
  isThere(): boolean {
    const branch = this.long();
    if (branch !== 0 && branch !== 1) throw new UndecodableRecord('a union branch that does not exist');
    return branch === 1;
  }

  /** Length of the string that begins here; the cursor then stands at the string's first byte. */
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

  /** @throws UndecodableRecord where the bytes do not end here */
  finish(): void {
    if (this.at !== this.end) throw new UndecodableRecord('not as long as its schema says');
  }
}

/**
 * Writes a number from 0 to 2⁵² as Avro's long, which is Kafka's varint too: zigzag, seven bits a byte. Returns its
 * end.
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

/** Bytes that `writeLong` takes for a number below 2³⁰. */
export function sizeOfLong(value: number): number {
  return sizeOfVarint(value << 1);
}

/** Writes a number from 0 to 2³¹ as ClickHouse writes lengths: seven bits a byte, without zigzag. Returns its end. */
export function writeVarint(to: Uint8Array, at: number, value: number): number {
  let end = at;
  let rest = value;
  // Shifts of whole numbers: the remainder of a floating-point division takes as long as the rest of a record.
  for (; rest >= 0x80; rest >>>= 7) to[end++] = (rest & 0x7f) | 0x80;
  to[end++] = rest;
  return end;
}

export function sizeOfVarint(value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
}

/** Where the varint that begins here ends. */
export function skipVarint(bytes: Uint8Array, start: number): number {
  let at = start;
  while (bytes[at]! >= 0x80) at += 1;
  return at + 1;
}

/** Writes these bytes of UTF-8 as an Avro string. Returns its end. */
export function writeString(to: Uint8Array, at: number, bytes: Uint8Array, start: number, length: number): number {
  const first = writeLong(to, at, length);
  for (let index = 0; index < length; index += 1) to[first + index] = bytes[start + index]!;
  return first + length;
}

/** The branch of a union of null and one type. */
export function writeBranch(to: Uint8Array, at: number, isThere: boolean): number {
  to[at] = isThere ? 2 : 0;
  return at + 1;
}

export function writeNullableLong(to: Uint8Array, at: number, value: number | null): number {
  const next = writeBranch(to, at, value !== null);
  return value === null ? next : writeLong(to, next, value);
}
