import { byteOfCodePoint } from '../registers/windows-1252.ts';
import { maxLineBytes, pipe } from './row-line.ts';
import { emptyRow, type StoredRow } from './row-store.ts';
import { slackBytes } from './scan.ts';

const memoryBytes = maxLineBytes * 2 + slackBytes;

/** Turns the rows of an Avro change back into the register's bytes: the reverse of `encodeRow`, equally without strings. */
export class RowDecoder {
  readonly #before = emptyRow(memoryBytes);
  readonly #after = emptyRow(memoryBytes);
  readonly #columns: number;
  #at = 0;

  /** `columns`: cells of a row after the RUC. */
  constructor(columns: number) {
    this.#columns = columns;
  }

  /** Rows of the record at `start`; valid until the next call. */
  read(record: Buffer, start: number): { before: StoredRow | null; after: StoredRow | null } {
    this.#at = start;
    for (let field = 0; field < 3; field += 1) this.#skipLong(record);
    // The length of the RUC, always 11.
    this.#at += 1;
    const ruc = this.#at;
    this.#at += 11;
    const before = record[this.#at++] === 0 ? null : this.#row(record, ruc, this.#before);
    const after = record[this.#at++] === 0 ? null : this.#row(record, ruc, this.#after);
    return { before, after };
  }

  #row(record: Buffer, ruc: number, into: StoredRow): StoredRow {
    const to = into.bytes;
    for (let digit = 0; digit < 11; digit += 1) to[digit] = record[ruc + digit]!;
    let end = 11;
    to[end++] = pipe;
    for (let column = 0; column < this.#columns; column += 1) {
      const length = this.#length(record);
      const last = this.#at + length;
      while (this.#at < last) to[end++] = this.#character(record);
      to[end++] = pipe;
    }
    into.end = end;
    return into;
  }

  /** One UTF-8 character as its Windows-1252 byte. The writer makes one to three bytes of each, never four. */
  #character(record: Buffer): number {
    const first = record[this.#at++]!;
    if (first < 0x80) return first;
    let codePoint = ((first & 0x1f) << 6) | (record[this.#at++]! & 0x3f);
    if (first >= 0xe0)
      codePoint = (((first & 0x0f) << 12) | ((codePoint & 0x3f) << 6) | (record[this.#at++]! & 0x3f)) >>> 0;
    return byteOfCodePoint(codePoint);
  }

  #length(record: Buffer): number {
    const low = record[this.#at++]!;
    return low < 0x80 ? low >> 1 : ((low & 0x7f) >> 1) + (record[this.#at++]! << 6);
  }

  #skipLong(record: Buffer): void {
    while (record[this.#at++]! >= 0x80);
  }
}
