import { type FileHandle, open } from 'node:fs/promises';
import avro from 'avsc';
import { CompareError } from './errors.ts';
import { type Operation, operations } from './schema.ts';

/** What the file says of itself, as `ChangeWriter` wrote it. */
export interface ChangeFileHeader {
  metadata: Record<string, string>;
  register: string;
  edition: number;
  /** Hash of the base's change file; '' for a first edition. */
  baseSha256: string;
  detectedAt: number;
  parserVersion: number;
  /** Columns of its rows, in order. */
  columns: readonly string[];
  /** Every row of the register is in it: a first edition or a re-baseline. Folding may start here. */
  isFull: boolean;
  /** The edition that it undoes, or null. */
  corrects: number | null;
}

export interface ChangeBlock {
  /** Cells of a row after its key. */
  columns: number;
  /** Records in the block. */
  count: number;
  /** Their Avro encodings end to end; valid as long as the caller holds it. */
  bytes: Buffer;
}

/** One record inside a block: `bytes.subarray(start, end)` is its Avro encoding, ready to be a message's value. */
export interface RecordSlice {
  op: Operation;
  /** The key: a RUC, or a supplier's id. */
  ruc: string;
  start: number;
  end: number;
}

const magic = 'Obj\u0001';
const maxHeaderBytes = 256 * 1024;
const syncBytes = 16;

/** Opens a change file of this folder's writer (codec null). Errors: `change_file_damaged`. */
export async function openChangeFile(path: string): Promise<ChangeFile> {
  const file = await open(path, 'r');
  try {
    const start = Buffer.alloc(maxHeaderBytes);
    const { bytesRead } = await file.read(start, 0, maxHeaderBytes, 0);
    return new ChangeFile(file, start.subarray(0, bytesRead));
  } catch (error) {
    await file.close();
    throw error;
  }
}

export class ChangeFile {
  readonly header: ChangeFileHeader;
  readonly #file: FileHandle;
  readonly #sync: Buffer;
  readonly #firstBlock: number;

  constructor(file: FileHandle, start: Buffer) {
    this.#file = file;
    if (start.toString('latin1', 0, 4) !== magic) throw damaged('is no Avro container');
    const reader = new Reader(start, 4);
    const metadata: Record<string, string> = {};
    for (let pairs = reader.long(); pairs !== 0; pairs = reader.long()) {
      if (pairs < 0) throw damaged('has a header of another writer');
      for (let pair = 0; pair < pairs; pair += 1) {
        const key = reader.text();
        metadata[key] = reader.text();
      }
    }
    if (metadata['avro.codec'] !== 'null') throw damaged('is compressed');
    this.#sync = Buffer.from(reader.take(syncBytes));
    this.#firstBlock = reader.at;
    this.header = {
      metadata,
      register: metadata['padron.register'] ?? '',
      edition: Number(metadata['padron.edition']),
      baseSha256: metadata['padron.base'] ?? '',
      detectedAt: Number(metadata['padron.detected_at']),
      parserVersion: Number(metadata['padron.parser_version']),
      columns: (metadata['padron.columns'] ?? '').split(','),
      isFull: metadata['padron.base'] === '' || metadata['padron.full'] === 'true',
      corrects: metadata['padron.corrects'] === undefined ? null : Number(metadata['padron.corrects']),
    };
  }

  /** The blocks in order, from `position` (a `next` of an earlier run) or the first on. */
  async *blocks(position = this.#firstBlock): AsyncGenerator<ChangeBlock & { next: number }> {
    const head = Buffer.alloc(20);
    for (let at = position; ; ) {
      const { bytesRead } = await this.#file.read(head, 0, head.length, at);
      if (bytesRead === 0) return;
      const reader = new Reader(head.subarray(0, bytesRead), 0);
      const count = reader.long();
      const length = reader.long();
      const bytes = Buffer.allocUnsafe(length + syncBytes);
      const body = await this.#file.read(bytes, 0, bytes.length, at + reader.at);
      if (body.bytesRead < bytes.length) throw damaged('is cut off');
      if (!bytes.subarray(length).equals(this.#sync)) throw damaged('has a block without its mark');
      at += reader.at + bytes.length;
      yield { columns: this.header.columns.length, count, bytes: bytes.subarray(0, length), next: at };
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** The records of a block, found by stepping over their fields: only the key becomes a string. */
export function* recordsOf(block: ChangeBlock): Generator<RecordSlice> {
  let at = 0;
  for (let record = 0; record < block.count; record += 1) {
    const slice = recordAt(block, at);
    at = slice.end;
    yield slice;
  }
  if (at !== block.bytes.length) throw damaged('has a block that is not as long as its records');
}

function recordAt({ bytes, columns }: ChangeBlock, start: number): RecordSlice {
  let at = skipLong(bytes, start);
  const op = operations[bytes[at]! >> 1];
  at = skipLong(bytes, at + 1);
  if (op === undefined || bytes[at]! >= 0x80) throw damaged('has a record that is no change');
  // A key has at most 40 bytes: its length is one byte.
  const key = at + 1;
  at = key + (bytes[at]! >> 1);
  const ruc = bytes.toString('utf8', key, at);
  at = skipRow(bytes, at, columns);
  at = skipRow(bytes, at, columns);
  at = bytes[at] === 0 ? at + 1 : skipLong(bytes, at + 1);
  at = skipLong(bytes, at);
  at = bytes[at] === 0 ? at + 1 : skipLong(bytes, at + 1);
  if (at > bytes.length) throw damaged('has a record longer than its block');
  return { op, ruc, start, end: at };
}

function skipLong(bytes: Buffer, position: number): number {
  let at = position;
  while (bytes[at]! >= 0x80) at += 1;
  return at + 1;
}

/** A nullable row. Past the block's end everything reads as nothing, and the caller sees where it stands. */
function skipRow(bytes: Buffer, position: number, columns: number): number {
  if (bytes[position] === 0) return position + 1;
  let at = position + 1;
  for (let column = 0; column < columns; column += 1) {
    let byte = bytes[at++]!;
    let bits = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = bytes[at++]!;
      bits |= (byte & 0x7f) << shift;
    }
    at += bits >>> 1;
  }
  return at;
}

/** Reads the container's own numbers and texts. */
class Reader {
  at: number;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  /** Exact up to 2⁵². */
  long(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.#bytes[this.at];
      if (byte === undefined) throw damaged('is cut off');
      this.at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
      scale *= 0x80;
    }
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  text(): string {
    return this.take(this.long()).toString('utf8');
  }

  take(length: number): Buffer {
    const from = this.at;
    if (length < 0 || from + length > this.#bytes.length) throw damaged('is cut off');
    this.at += length;
    return this.#bytes.subarray(from, this.at);
  }
}

function damaged(why: string): CompareError {
  return new CompareError('change_file_damaged', `The change file ${why}.`);
}

/** A change as plain values, for tools and tests. */
export interface DecodedChange {
  edition: number;
  op: Operation;
  seq: number;
  ruc: string;
  before: Record<string, string> | null;
  after: Record<string, string> | null;
  line: number | null;
  detected_at: number;
  corrects: number | null;
}

/** Decodes every record with the schema that the file carries. Not for millions of rows. */
export function decodeChanges(path: string): AsyncGenerator<DecodedChange> {
  return decodeRecords<DecodedChange>(path);
}

/** The records of a container that this folder wrote, by the schema that it carries. Errors: `change_file_damaged`. */
export async function* decodeRecords<T>(path: string): AsyncGenerator<T> {
  const file = await openChangeFile(path);
  try {
    const type = avro.Type.forSchema(JSON.parse(file.header.metadata['avro.schema']!) as avro.Schema);
    for await (const { count, bytes } of file.blocks()) {
      for (let record = 0, at = 0; record < count; record += 1) {
        const { value, offset } = type.decode(bytes, at) as { value: T; offset: number };
        if (offset < 0) throw damaged('has a record longer than its block');
        at = offset;
        yield value;
      }
    }
  } finally {
    await file.close();
  }
}
