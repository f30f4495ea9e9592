import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import { readUInt64 } from '../queries/look-up.ts';

/** The texts of a row, in the order in which they are read. */
export const text = { name: 0, form: 1, estado: 2, condicion: 3, ubigeo: 4, enie: 5, words: 6, letters: 7 } as const;
const texts = Object.keys(text).length;
/** Bytes after the texts: ruc UInt64, standing UInt8, length UInt8, is_deleted UInt8. */
const fixedBytes = 11;

/** A row of the table `ranked_name` as it lies in the bytes of an answer. It is valid only until the next row. */
export class NameRow {
  bytes: Buffer = Buffer.alloc(0);
  ruc = 0;
  standing = 0;
  length = 0;
  isDeleted = false;
  readonly #ends = new Int32Array(texts);
  readonly #starts = new Int32Array(texts);

  /** Where a text begins in `bytes`. @param which one of `text` */
  from(which: number): number {
    return this.#starts[which]!;
  }

  to(which: number): number {
    return this.#ends[which]!;
  }

  isEmpty(which: number): boolean {
    return this.#starts[which] === this.#ends[which];
  }

  string(which: number): string {
    return this.bytes.toString('utf8', this.#starts[which], this.#ends[which]);
  }

  /** Reads the row at `at` in RowBinary. Returns where the next row begins, or -1 when the row is not complete. */
  read(bytes: Buffer, at: number): number {
    let position = at;
    for (let each = 0; each < texts; each += 1) {
      let size = 0;
      for (let shift = 0; ; shift += 7) {
        if (position >= bytes.length) return -1;
        const byte = bytes[position]!;
        position += 1;
        size |= (byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
      this.#starts[each] = position;
      position += size;
      this.#ends[each] = position;
    }
    if (position + fixedBytes > bytes.length) return -1;
    this.bytes = bytes;
    this.ruc = readUInt64(bytes, position);
    this.standing = bytes[position + 8]!;
    this.length = bytes[position + 9]!;
    this.isDeleted = bytes[position + 10] === 1;
    return position + fixedBytes;
  }
}

/** One thread reads the table in its order. Some two million rows take a few seconds. */
const settings = {
  max_threads: 1,
  enable_analyzer: 0,
  max_execution_time: 120,
  max_memory_usage: String(512 * 1024 * 1024),
} as const;

/**
 * Reads the rows of `ranked_name` with a version above `since`, and of several rows with one key only the newest. Rows
 * come in the table's order: standing, length, RUC, name. To save a third of the bytes, `words` is empty when it is the
 * same as the name, and `letters` when it is the name without spaces.
 */
export async function readNames(
  clickhouse: ClickHouseClient,
  since: number,
  take: (row: NameRow) => void,
): Promise<void> {
  const { stream } = await clickhouse.exec({
    query: `SELECT name, form, estado, condicion, ubigeo, enie, if(words = name, '', words),
        if(letters = replaceAll(name, ' ', ''), '', letters), ruc, standing, length, is_deleted
      FROM ranked_name WHERE version > ${since} ORDER BY standing, length, ruc, name, version DESC FORMAT RowBinary`,
    clickhouse_settings: settings,
  });
  let row = new NameRow();
  let last = new NameRow();
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of stream as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let at = 0;
    for (let next = row.read(bytes, at); next >= 0; next = row.read(bytes, at)) {
      at = next;
      if (isSameKey(row, last)) continue;
      take(row);
      [row, last] = [last, row];
    }
    rest = bytes.subarray(at);
  }
  if (rest.length > 0) throw new RangeError('the rows of ClickHouse end inside a row');
}

function isSameKey(one: NameRow, other: NameRow): boolean {
  if (one.ruc !== other.ruc || one.standing !== other.standing || one.length !== other.length) return false;
  const from = other.from(text.name);
  const to = other.to(text.name);
  return one.bytes.compare(other.bytes, from, to, one.from(text.name), one.to(text.name)) === 0;
}
