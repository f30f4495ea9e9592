import { createHash } from 'node:crypto';
import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RegisterName } from '../../schemas/registers.ts';
import {
  changeSchema,
  namedBytes,
  type Operation,
  type OverlayReason,
  operations,
  overlayReasons,
  overlaySchema,
} from '../changes/schema.ts';
import { moveIntoPlaceSync } from '../runtime/durable-files.ts';
import { EmptyCells, encodeRow } from './large/rows.ts';
import { writeFully } from './large/spill.ts';

/** A row in memory: its first byte. A good row ends at the pipe of its last cell. */
export interface RowAt {
  bytes: Uint8Array;
  start: number;
}

/** What a change file says of itself, beside its records. */
export interface ChangeFileFacts {
  register: RegisterName;
  edition: number;
  /** Hash of the base's change file; '' for a first edition. */
  baseSha256: string;
  detectedAt: number;
  parserVersion: number;
  columns: readonly string[];
  hashSeed: { first: number; second: number };
  /** Every row of the register is written, whatever the base has: a first edition or a re-baseline. */
  isFull: boolean;
  /** The edition that this one undoes, or null. */
  corrects: number | null;
}

const nullBranch = 0x00;
const valueBranch = 0x02;

/** Writes an edition's change file from bytes; the caller gives the rows in RUC order. */
export class ChangeWriter {
  readonly #container: ContainerWriter;
  readonly #edition: Buffer;
  readonly #detectedAt: Buffer;
  readonly #corrects: Buffer;
  /** What a before adds to the counts of empty cells; a full edition counts from nothing. */
  readonly #beforeSign: 0 | -1;
  #seq = 0;
  /** Cells that stand for nothing, over all rows: raised by afters, lowered by befores. */
  readonly empty: EmptyCells;

  /** `emptyMarkers`: of the register's format. */
  constructor(folder: string, attempt: string, facts: ChangeFileFacts, emptyMarkers: readonly string[]) {
    const metadata: Record<string, string> = {
      'padron.register': facts.register,
      'padron.edition': String(facts.edition),
      'padron.base': facts.baseSha256,
      'padron.detected_at': String(facts.detectedAt),
      'padron.parser_version': String(facts.parserVersion),
      'padron.columns': facts.columns.join(','),
      'padron.hash_seed': `${facts.hashSeed.first},${facts.hashSeed.second}`,
    };
    if (facts.isFull && facts.baseSha256 !== '') metadata['padron.full'] = 'true';
    if (facts.corrects !== null) metadata['padron.corrects'] = String(facts.corrects);
    const sync = namedBytes(16, 'sync', facts.register, facts.edition, facts.baseSha256, facts.detectedAt);
    this.#container = new ContainerWriter(folder, attempt, changeSchema(facts.register), metadata, sync);
    this.#edition = encodeLong(facts.edition);
    this.#detectedAt = encodeLong(facts.detectedAt);
    this.#corrects =
      facts.corrects === null
        ? Buffer.of(nullBranch)
        : Buffer.concat([Buffer.of(valueBranch), encodeLong(facts.corrects)]);
    this.#beforeSign = facts.isFull ? 0 : -1;
    this.empty = new EmptyCells(facts.columns.length, emptyMarkers);
  }

  get count(): number {
    return this.#seq;
  }

  write(op: Operation, before: RowAt | null, after: RowAt | null, line: number | null): void {
    const to = this.#container.buffer;
    let at = this.#container.at;
    to.set(this.#edition, at);
    at += this.#edition.length;
    to[at++] = operations.indexOf(op) << 1;
    at = writeLong(to, at, this.#seq);
    at = writeRuc(to, at, (after ?? before)!);
    to[at++] = before === null ? nullBranch : valueBranch;
    if (before !== null) at = encodeRow(to, at, before.bytes, before.start, this.empty, this.#beforeSign);
    to[at++] = after === null ? nullBranch : valueBranch;
    if (after !== null) at = encodeRow(to, at, after.bytes, after.start, this.empty, 1);
    to[at++] = line === null ? nullBranch : valueBranch;
    if (line !== null) at = writeLong(to, at, line);
    to.set(this.#detectedAt, at);
    at += this.#detectedAt.length;
    to.set(this.#corrects, at);
    this.#container.at = at + this.#corrects.length;
    this.#seq += 1;
    this.#container.endRecord();
  }

  finish(nameOf: (sha256: string) => string): ContainerFile {
    return this.#container.finish(nameOf);
  }

  discard(): void {
    this.#container.discard();
  }
}

/** Writes the rows in which the state differs from the publication. The file exists only if there are any. */
export class OverlayWriter {
  readonly #make: () => ContainerWriter;
  readonly #uncounted: EmptyCells;
  #container: ContainerWriter | null = null;

  constructor(folder: string, attempt: string, facts: ChangeFileFacts) {
    const metadata = { 'padron.register': facts.register, 'padron.edition': String(facts.edition) };
    const sync = namedBytes(16, 'overlay', facts.register, facts.edition, facts.baseSha256, facts.detectedAt);
    this.#make = () => new ContainerWriter(folder, attempt, overlaySchema(facts.register), metadata, sync);
    this.#uncounted = new EmptyCells(facts.columns.length, []);
  }

  /** Rows come in RUC order. */
  write(row: RowAt, reason: OverlayReason, line: number | null): void {
    const container = this.#begin(row, reason, line);
    container.buffer[container.at++] = valueBranch;
    container.at = encodeRow(container.buffer, container.at, row.bytes, row.start, this.#uncounted, 0);
    container.endRecord();
  }

  /** The publication has the RUC of this row and the state does not. */
  writeAbsent(row: RowAt, reason: OverlayReason, line: number | null): void {
    const container = this.#begin(row, reason, line);
    container.buffer[container.at++] = nullBranch;
    container.endRecord();
  }

  #begin(row: RowAt, reason: OverlayReason, line: number | null): ContainerWriter {
    this.#container ??= this.#make();
    const container = this.#container;
    const to = container.buffer;
    let at = writeRuc(to, container.at, row);
    to[at++] = overlayReasons.indexOf(reason) << 1;
    to[at++] = line === null ? nullBranch : valueBranch;
    if (line !== null) at = writeLong(to, at, line);
    container.at = at;
    return container;
  }

  finish(nameOf: (sha256: string) => string): ContainerFile | null {
    return this.#container?.finish(nameOf) ?? null;
  }

  discard(): void {
    this.#container?.discard();
  }
}

function writeRuc(to: Uint8Array, position: number, row: RowAt): number {
  to[position] = 11 << 1;
  for (let digit = 0; digit < 11; digit += 1) to[position + 1 + digit] = row.bytes[row.start + digit]!;
  return position + 12;
}

/** Uncompressed bytes after which a block is closed. */
const blockBytes = 256 * 1024;
/** Longest record: two rows of 1,000 bytes, each byte three in UTF-8, and the numbers around them. */
const maxRecordBytes = 8 * 1024;
const magic = Buffer.from('Obj\u0001', 'latin1');

export interface ContainerFile {
  path: string;
  sha256: string;
  bytes: number;
}

/**
 * Writes an Avro object container file (Avro specification 1.11, "Object Container Files"), codec null. Records are
 * encoded by the caller straight into `buffer` from `at` on; the file's hash is taken as it is written.
 */
export class ContainerWriter {
  readonly buffer = new Uint8Array(blockBytes + maxRecordBytes);
  at = 0;
  #count = 0;
  readonly #folder: string;
  readonly #attempt: string;
  readonly #file: number;
  readonly #sync: Uint8Array;
  readonly #hash = createHash('sha256');
  #written = 0;
  #closed = false;

  /** `sync` (16 bytes) stands between blocks; callers derive it from what the file holds, so equal runs give equal bytes. */
  constructor(folder: string, attempt: string, schema: unknown, metadata: Record<string, string>, sync: Uint8Array) {
    this.#folder = folder;
    this.#attempt = attempt;
    this.#sync = sync;
    this.#file = openSync(join(folder, attempt), 'w');
    const all: Record<string, string> = { 'avro.schema': JSON.stringify(schema), 'avro.codec': 'null', ...metadata };
    const text = (value: string) => [encodeLong(Buffer.byteLength(value)), Buffer.from(value, 'utf8')];
    const pairs = Object.entries(all).flatMap(([key, value]) => [...text(key), ...text(value)]);
    this.#write(Buffer.concat([magic, encodeLong(Object.keys(all).length), ...pairs, encodeLong(0), sync]));
  }

  /** Adds a record that was encoded elsewhere, of any length. */
  append(record: Uint8Array): void {
    if (record.length > this.buffer.length - this.at) this.#endBlock();
    if (record.length > this.buffer.length) {
      this.#writeBlock(1, record);
      return;
    }
    this.buffer.set(record, this.at);
    this.at += record.length;
    this.endRecord();
  }

  /** Call after each record; leaves room in `buffer` for the next. */
  endRecord(): void {
    this.#count += 1;
    if (this.at >= blockBytes) this.#endBlock();
  }

  /**
   * Makes the file durable under a name chosen from its hash. Dying before the rename leaves an attempt's file that
   * nobody reads.
   */
  finish(nameOf: (sha256: string) => string): ContainerFile {
    this.#endBlock();
    this.#closed = true;
    const sha256 = this.#hash.digest('hex');
    const path = join(this.#folder, nameOf(sha256));
    closeSync(this.#file);
    moveIntoPlaceSync(join(this.#folder, this.#attempt), path);
    return { path, sha256, bytes: this.#written };
  }

  discard(): void {
    if (this.#closed) return;
    this.#closed = true;
    closeSync(this.#file);
    rmSync(join(this.#folder, this.#attempt), { force: true });
  }

  #endBlock(): void {
    if (this.#count === 0) return;
    this.#writeBlock(this.#count, this.buffer.subarray(0, this.at));
    this.#count = 0;
    this.at = 0;
  }

  #writeBlock(count: number, records: Uint8Array): void {
    this.#write(Buffer.concat([encodeLong(count), encodeLong(records.length)]));
    this.#write(records);
    this.#write(this.#sync);
  }

  #write(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    writeFully(this.#file, bytes, 0, bytes.length, this.#written);
    this.#written += bytes.length;
  }
}

/** Avro's long for a number ≥ 0: zigzag, then seven bits a byte. Exact up to 2⁵². */
function encodeLong(value: number): Buffer {
  const bytes = Buffer.alloc(10);
  return bytes.subarray(0, writeLong(bytes, 0, value));
}

/** Writes the same to `at`; returns where it ends. */
function writeLong(bytes: Uint8Array, at: number, value: number): number {
  let end = at;
  if (value < 2 ** 30) {
    // Whole numbers: the remainder of a floating-point division takes as long as the rest of a record.
    let bits = value << 1;
    for (; bits >= 0x80; bits >>>= 7) bytes[end++] = (bits & 0x7f) | 0x80;
    bytes[end++] = bits;
    return end;
  }
  let rest = value * 2;
  while (rest >= 0x80) {
    bytes[end++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  bytes[end++] = rest;
  return end;
}
