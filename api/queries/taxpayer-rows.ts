/** A register's current row of one RUC. */
export interface StoredRow {
  /** Register.code */
  register: number;
  /** The edition that wrote it. */
  version: number;
  /** The RUC left the register with this edition; it has no cells then. */
  isDeleted: boolean;
  /** In the order of the register's columns. */
  cells: readonly string[];
}

/**
 * Reads ClickHouse's RowBinary of (ruc UInt64, register UInt8, version UInt64, is_deleted UInt8, row String): little
 * endian, a string's length before it as a LEB128 number; in any order. Of a RUC's rows of one register only the newest
 * is told: the table holds superseded ones until they are merged away. Rows marked as deleted are told as such: which edition a
 * RUC left is part of the answer.
 * @throws RangeError when the bytes end inside a row
 */
export function readTaxpayerRows(bytes: Buffer): Map<number, StoredRow[]> {
  const found = new Map<number, StoredRow[]>();
  let at = 0;
  while (at < bytes.length) {
    const ruc = readUInt64(bytes, at);
    const register = bytes.readUInt8(at + 8);
    const version = readUInt64(bytes, at + 9);
    const isDeleted = bytes.readUInt8(at + 17) === 1;
    const text = readLength(bytes, at + 18);
    const end = text.start + text.length;
    if (end > bytes.length) throw new RangeError('the rows of ClickHouse end inside a row');
    at = end;
    const rows = found.get(ruc) ?? [];
    const known = rows.findIndex((row) => row.register === register);
    if (known >= 0 && rows[known]!.version >= version) continue;
    const cells = isDeleted ? [] : (JSON.parse(bytes.toString('utf8', text.start, end)) as string[]);
    const row = { register, version, isDeleted, cells };
    if (known >= 0) rows[known] = row;
    else rows.push(row);
    found.set(ruc, rows);
  }
  return found;
}

// RUCs and editions are far below 2^53.
function readUInt64(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

function readLength(bytes: Buffer, at: number): { length: number; start: number } {
  let length = 0;
  let shift = 0;
  let position = at;
  for (;;) {
    const byte = bytes.readUInt8(position);
    position += 1;
    length += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { length, start: position };
    shift += 7;
  }
}
