import type { HashSeed } from '../../../../../pipelines/changes/change-file.ts';
import { hashOfRow, problemOfLine, slackBytes } from '../../../../../pipelines/diff/large/scan.ts';
import { keyAt, noKey } from '../../../../../pipelines/registers/ruc-key.ts';

export interface PlainRow {
  key: number;
  text: string;
  /** Null for a bad line, and for a row with control bytes, which is hashed only after they are replaced. */
  hash: [number, number] | null;
}

export interface PlainText {
  rows: PlainRow[];
  emptyNames: number;
  /** Indexes in `rows` of good rows with control bytes. */
  repairable: number[];
}

/** Reads lines in the simplest way. The kernel's reading must equal it. The last line may lack its line end. */
export function readPlainly(text: Buffer, seed: HashSeed, cells: number): PlainText {
  const found: PlainText = { rows: [], emptyNames: 0, repairable: [] };
  const bytes = Buffer.concat([text, Buffer.from(text.at(-1) === 10 ? '' : '\n'), Buffer.alloc(slackBytes)]);
  const limit = bytes.length - slackBytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let start = 0; start < limit; ) {
    const lineEnd = bytes.indexOf(10, start);
    const end = lineEnd > start && bytes[lineEnd - 1] === 13 ? lineEnd - 1 : lineEnd;
    const isRow = problemOfLine(bytes, start, end, cells) === null;
    const hasControlByte = bytes.subarray(start, end).some((byte) => byte < 32);
    if (isRow && hasControlByte) found.repairable.push(found.rows.length);
    if (isRow && bytes[start + 12] === 124) found.emptyNames += 1;
    const hash = new Int32Array(2);
    hashOfRow(view, start, end, seed, hash);
    found.rows.push({
      key: isRow ? keyAt(bytes, start, end) : noKey,
      text: bytes.toString('latin1', start, end),
      hash: isRow && !hasControlByte ? [hash[0]!, hash[1]!] : null,
    });
    start = lineEnd + 1;
  }
  return found;
}
