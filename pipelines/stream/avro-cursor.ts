import { UndecodableRecord } from './codec.ts';

/**
 * Walks Avro bytes without making objects or strings. It reads past the end of a damaged record without harm; finish()
 * tells. Numbers above 2^53 do not occur in our schemas.
 */
export class AvroCursor {
  bytes: Uint8Array;
  at: number;
  end: number;

  constructor() {
    this.bytes = new Uint8Array(0);
    this.at = 0;
    this.end = 0;
  }

  reset(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
  }

  /** A zigzag long of up to 53 bits. */
  long(): number {
    const { bytes } = this;
    let byte = bytes[this.at++]!;
    if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1);
    let low = byte & 0x7f;
    let scale = 128;
    // Beyond 31 bits shifts would wrap: multiply instead. Eight groups of seven bits are 2^56.
    for (let groups = 1; groups < 8; groups += 1) {
      byte = bytes[this.at++]!;
      low += (byte & 0x7f) * scale;
      if ((byte & 0x80) === 0) return low % 2 === 0 ? low / 2 : -(low + 1) / 2;
      scale *= 128;
    }
    throw new UndecodableRecord('a number of more than 53 bits');
  }

  /** 0 null, 1 the value. */
  isThere(): boolean {
    const branch = this.long();
    if (branch !== 0 && branch !== 1) throw new UndecodableRecord('a union branch that does not exist');
    return branch === 1;
  }

  /** Length of the string that begins here; the cursor then stands at its first byte. */
  stringLength(): number {
    const length = this.long();
    if (length < 0 || this.at + length > this.end) throw new UndecodableRecord('a string longer than its record');
    return length;
  }

  /** @throws UndecodableRecord where the record does not end here */
  finish(): void {
    if (this.at !== this.end) throw new UndecodableRecord('not as long as its schema says');
  }
}
