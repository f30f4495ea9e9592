import type { RegisterName } from '../../schemas/registers.ts';
import { type ContainerFile, ContainerWriter, encodeLong, writeLong } from './container.ts';
import { EmptyCells } from './empty-cells.ts';
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
