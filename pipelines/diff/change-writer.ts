import type { RegisterName } from '../../schemas/registers.ts';
import { type ContainerFile, ContainerWriter, encodeLong, writeLong } from './container.ts';
import { encodeRow } from './encode-row.ts';
import {
  changeSchema,
  namedBytes,
  type Operation,
  type OverlayReason,
  operations,
  overlayReasons,
  overlaySchema,
} from './schema.ts';

/** A row in memory: its first byte. A good row ends at its 15th pipe. */
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
}

const nullBranch = 0x00;
const valueBranch = 0x02;

/** Writes an edition's change file from bytes; the caller gives the rows in RUC order. */
export class ChangeWriter {
  readonly #container: ContainerWriter;
  readonly #edition: Buffer;
  readonly #detectedAt: Buffer;
  #seq = 0;
  /** Cells that stand for nothing, by column, over all rows: raised by afters, lowered by befores. */
  readonly empty: Float64Array;

  constructor(folder: string, attempt: string, facts: ChangeFileFacts) {
    const metadata = {
      'padron.register': facts.register,
      'padron.edition': String(facts.edition),
      'padron.base': facts.baseSha256,
      'padron.detected_at': String(facts.detectedAt),
      'padron.parser_version': String(facts.parserVersion),
      'padron.columns': facts.columns.join(','),
      'padron.hash_seed': `${facts.hashSeed.first},${facts.hashSeed.second}`,
    };
    const sync = namedBytes(16, 'sync', facts.register, facts.edition, facts.baseSha256, facts.detectedAt);
    this.#container = new ContainerWriter(folder, attempt, changeSchema(facts.register), metadata, sync);
    this.#edition = encodeLong(facts.edition);
    this.#detectedAt = encodeLong(facts.detectedAt);
    this.empty = new Float64Array(facts.columns.length);
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
    if (before !== null) at = encodeRow(to, at, before.bytes, before.start, this.empty, -1);
    to[at++] = after === null ? nullBranch : valueBranch;
    if (after !== null) at = encodeRow(to, at, after.bytes, after.start, this.empty, 1);
    to[at++] = line === null ? nullBranch : valueBranch;
    if (line !== null) at = writeLong(to, at, line);
    to.set(this.#detectedAt, at);
    at += this.#detectedAt.length;
    // A comparison corrects nothing.
    to[at++] = nullBranch;
    this.#container.at = at;
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
  readonly #uncounted: Float64Array;
  #container: ContainerWriter | null = null;

  constructor(folder: string, attempt: string, facts: ChangeFileFacts) {
    const metadata = { 'padron.register': facts.register, 'padron.edition': String(facts.edition) };
    const sync = namedBytes(16, 'overlay', facts.register, facts.edition, facts.baseSha256, facts.detectedAt);
    this.#make = () => new ContainerWriter(folder, attempt, overlaySchema(facts.register), metadata, sync);
    this.#uncounted = new Float64Array(facts.columns.length);
  }

  write(row: RowAt, reason: OverlayReason, line: number | null): void {
    this.#container ??= this.#make();
    const to = this.#container.buffer;
    let at = writeRuc(to, this.#container.at, row);
    to[at++] = overlayReasons.indexOf(reason) << 1;
    to[at++] = line === null ? nullBranch : valueBranch;
    if (line !== null) at = writeLong(to, at, line);
    this.#container.at = encodeRow(to, at, row.bytes, row.start, this.#uncounted, 0);
    this.#container.endRecord();
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
