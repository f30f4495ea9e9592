import { type FileHandle, open } from 'node:fs/promises';
import avro from 'avsc';
import type { RegisterName } from '../../schemas/registers.ts';
import { AvroCursor } from './avro.ts';
import { CompareError, UndecodableRecord } from './errors.ts';
import { BlockCursor, type ChangeLayout, layoutOf } from './record-bytes.ts';

export interface HashSeed {
  first: number;
  second: number;
}

/** Facts about an edition that the header of its change file holds. */
export interface EditionFacts {
  register: RegisterName;
  edition: number;
  /** Hash of the change file of the base, the edition before this one; '' for a first edition. */
  baseSha256: string;
  detectedAt: number;
  parserVersion: number;
  /** Names of the columns of a row, in order. */
  columns: readonly string[];
  /** True for a first edition and a re-baseline: the file has every row, so a rebuild may start with it. */
  isFull: boolean;
  /** Number of the edition that this edition undoes, or null. */
  corrects: number | null;
}

/** Facts about an edition of a large register. `hashSeed` is the seed of the hashes of its rows. */
export interface ChangeFileFacts extends EditionFacts {
  hashSeed: HashSeed;
}

export interface ChangeFileHeader extends Omit<EditionFacts, 'register'> {
  register: string;
  metadata: Record<string, string>;
  /** Null for a small register, whose rows are not hashed. */
  hashSeed: HashSeed | null;
}

/** Returns the facts as the container's metadata, in the order in which they are written. */
export function metadataOf(facts: EditionFacts & { hashSeed?: HashSeed }): Record<string, string> {
  const { hashSeed, corrects } = facts;
  return {
    'padron.register': facts.register,
    'padron.edition': String(facts.edition),
    'padron.base': facts.baseSha256,
    'padron.detected_at': String(facts.detectedAt),
    'padron.parser_version': String(facts.parserVersion),
    'padron.columns': facts.columns.join(','),
    ...(hashSeed === undefined ? {} : { 'padron.hash_seed': `${hashSeed.first},${hashSeed.second}` }),
    ...(facts.isFull && facts.baseSha256 !== '' ? { 'padron.full': 'true' } : {}),
    ...(corrects === null ? {} : { 'padron.corrects': String(corrects) }),
  };
}

function headerOf(metadata: Record<string, string>): ChangeFileHeader {
  const [first, second] = (metadata['padron.hash_seed'] ?? '').split(',').map(Number);
  const seeded = Number.isInteger(first) && Number.isInteger(second);
  return {
    metadata,
    register: metadata['padron.register'] ?? '',
    edition: Number(metadata['padron.edition']),
    baseSha256: metadata['padron.base'] ?? '',
    detectedAt: Number(metadata['padron.detected_at']),
    parserVersion: Number(metadata['padron.parser_version']),
    columns: (metadata['padron.columns'] ?? '').split(','),
    hashSeed: seeded ? { first: first!, second: second! } : null,
    isFull: metadata['padron.base'] === '' || metadata['padron.full'] === 'true',
    corrects: metadata['padron.corrects'] === undefined ? null : Number(metadata['padron.corrects']),
  };
}

export interface ChangeBlock {
  layout: ChangeLayout;
  count: number;
  /** The Avro encodings of the records, end to end. Nothing writes to this buffer later, so a caller may keep it. */
  bytes: Buffer;
  /** Position of the next block in the file. */
  next: number;
}

export const containerMagic = 'Obj\u0001';
const maxHeaderBytes = 256 * 1024;
const syncBytes = 16;
/** A block begins with two longs of at most ten bytes each: its number of records and its length in bytes. */
const blockHeadBytes = 20;

/** Opens a change file or an overlay that ContainerWriter has written. @throws CompareError `change_file_damaged` */
export async function openChangeFile(path: string): Promise<ChangeFile> {
  const file = await open(path, 'r');
  try {
    const start = Buffer.alloc(maxHeaderBytes);
    const { bytesRead } = await file.read(start, 0, maxHeaderBytes, 0);
    return damagedWhere(() => new ChangeFile(file, start.subarray(0, bytesRead)));
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
    if (start.toString('latin1', 0, 4) !== containerMagic) throw damaged('is no Avro container');
    const cursor = new AvroCursor();
    cursor.reset(start, 4, start.length);
    const metadata: Record<string, string> = {};
    for (let pairs = cursor.long(); pairs !== 0; pairs = cursor.long()) {
      if (pairs < 0) throw damaged('has a header of another writer');
      for (let pair = 0; pair < pairs; pair += 1) {
        const key = cursor.string();
        metadata[key] = cursor.string();
      }
    }
    if (cursor.at + syncBytes > start.length) throw damaged('is cut off');
    if (metadata['avro.codec'] !== 'null') throw damaged('is compressed');
    this.#firstBlock = cursor.at + syncBytes;
    this.#sync = Buffer.from(start.subarray(cursor.at, this.#firstBlock));
    this.header = headerOf(metadata);
  }

  /** The schema in the file's header, as parsed JSON. */
  get schema(): unknown {
    return JSON.parse(this.header.metadata['avro.schema'] ?? '');
  }

  /** Yields the blocks in order, from the first one or from `position`, which is the `next` of an earlier block. */
  async *blocks(position = this.#firstBlock): AsyncGenerator<ChangeBlock> {
    const layout = layoutOf(this.schema);
    for await (const block of this.#rawBlocks(position)) yield { layout, ...block };
  }

  /** Yields the records of each block as plain values, decoded by the schema in the file. */
  async *decodedBlocks<T>(): AsyncGenerator<T[]> {
    const type = avro.Type.forSchema(this.schema as avro.Schema);
    for await (const { count, bytes } of this.#rawBlocks(this.#firstBlock)) {
      const records: T[] = [];
      for (let at = 0; records.length < count; ) {
        const { value, offset } = type.decode(bytes, at) as { value: T; offset: number };
        if (offset < 0) throw damaged('has a record longer than its block');
        records.push(value);
        at = offset;
      }
      yield records;
    }
  }

  async *#rawBlocks(position: number): AsyncGenerator<Omit<ChangeBlock, 'layout'>> {
    const head = Buffer.alloc(blockHeadBytes);
    const cursor = new AvroCursor();
    for (let at = position; ; ) {
      const { bytesRead } = await this.#file.read(head, 0, head.length, at);
      if (bytesRead === 0) return;
      cursor.reset(head, 0, bytesRead);
      const [count, length] = damagedWhere(() => [cursor.long(), cursor.long()] as const);
      if (cursor.at > bytesRead || count < 0 || length < 0) throw damaged('is cut off');
      const bytes = Buffer.allocUnsafe(length + syncBytes);
      const body = await this.#file.read(bytes, 0, bytes.length, at + cursor.at);
      if (body.bytesRead < bytes.length) throw damaged('is cut off');
      if (!bytes.subarray(length).equals(this.#sync)) throw damaged('has a block without its mark');
      at += cursor.at + bytes.length;
      yield { count, bytes: bytes.subarray(0, length), next: at };
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/**
 * Yields a cursor at each record of a block in turn. The cursor is always one object. Its fields describe a record only
 * until the next record is read.
 * @throws CompareError `change_file_damaged`
 */
export function* recordsOf(block: ChangeBlock): Generator<BlockCursor> {
  const cursor = new BlockCursor(block.layout);
  damagedWhere(() => cursor.open(block));
  const next = () => cursor.next();
  while (damagedWhere(next)) yield cursor;
}

/**
 * Yields all records of a change file or an overlay as plain values, by the schema in the file. Too slow for millions
 * of rows.
 * @throws CompareError `change_file_damaged`
 */
export async function* decodeRecords<T>(path: string): AsyncGenerator<T> {
  const file = await openChangeFile(path);
  try {
    for await (const records of file.decodedBlocks<T>()) yield* records;
  } finally {
    await file.close();
  }
}

function damagedWhere<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof UndecodableRecord) throw damaged(`cannot be read: ${error.message}`);
    throw error;
  }
}

function damaged(why: string): CompareError {
  return new CompareError('change_file_damaged', `The change file ${why}.`);
}
