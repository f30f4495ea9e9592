import { rucLength } from '../../schemas/ruc.ts';
import { writeBranch, writeLong, writeNullableLong, writeString } from '../changes/avro.ts';
import { type ChangeFileFacts, metadataOf } from '../changes/change-file.ts';
import { type ContainerFile, ContainerWriter } from '../changes/container-writer.ts';
import { ChangeEncoder, type Operation } from '../changes/record-bytes.ts';
import { changeSchema, namedBytes, type OverlayReason, overlayReasons, overlaySchema } from '../changes/schema.ts';
import { EmptyCells, encodeRow } from './large/rows.ts';

/** Where a row begins in memory. A good row ends at the pipe of its last cell. */
export interface RowAt {
  bytes: Uint8Array;
  start: number;
}

/** Writes an edition's change file from the bytes of its rows. Callers give the rows in RUC order. */
export class ChangeWriter {
  readonly #container: ContainerWriter;
  readonly #encoder: ChangeEncoder<RowAt>;
  #seq = 0;
  /** Counts of empty cells by column: an `after` row adds its empty cells, a `before` row subtracts its own. */
  readonly empty: EmptyCells;

  constructor(folder: string, attempt: string, facts: ChangeFileFacts, emptyMarkers: readonly string[]) {
    const sync = namedBytes(16, 'sync', facts.register, facts.edition, facts.baseSha256, facts.detectedAt);
    this.#container = new ContainerWriter(folder, attempt, changeSchema(facts.register), metadataOf(facts), sync);
    const empty = new EmptyCells(facts.columns.length, emptyMarkers);
    // A full edition counts its empty cells from zero, so its `before` rows subtract nothing.
    const beforeSign = facts.isFull ? 0 : -1;
    this.#encoder = new ChangeEncoder(facts, (to, at, row, isAfter) =>
      encodeRow(to, at, row.bytes, row.start, empty, isAfter ? 1 : beforeSign),
    );
    this.empty = empty;
  }

  get count(): number {
    return this.#seq;
  }

  write(op: Operation, before: RowAt | null, after: RowAt | null, line: number | null): void {
    const container = this.#container;
    container.at = this.#encoder.write(container.buffer, container.at, op, this.#seq, before, after, line);
    this.#seq += 1;
    container.endRecord();
  }

  finish(nameOf: (sha256: string) => string): ContainerFile {
    return this.#container.finish(nameOf);
  }

  discard(): void {
    this.#container.discard();
  }
}

/** Writes an overlay: the rows in which the state differs from the publication. Without such rows it makes no file. */
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

  /** Writes the row that the state has for a RUC. Callers give rows in RUC order. */
  write(row: RowAt, reason: OverlayReason, line: number | null): void {
    const container = this.#begin(row, reason, line);
    const at = writeBranch(container.buffer, container.at, true);
    container.at = encodeRow(container.buffer, at, row.bytes, row.start, this.#uncounted, 0);
    container.endRecord();
  }

  /** Writes that the state does not have this row's RUC, although the publication has it. */
  writeAbsent(row: RowAt, reason: OverlayReason, line: number | null): void {
    const container = this.#begin(row, reason, line);
    container.at = writeBranch(container.buffer, container.at, false);
    container.endRecord();
  }

  #begin(row: RowAt, reason: OverlayReason, line: number | null): ContainerWriter {
    this.#container ??= this.#make();
    const container = this.#container;
    const to = container.buffer;
    let at = writeString(to, container.at, row.bytes, row.start, rucLength);
    at = writeLong(to, at, overlayReasons.indexOf(reason));
    container.at = writeNullableLong(to, at, line);
    return container;
  }

  finish(nameOf: (sha256: string) => string): ContainerFile | null {
    return this.#container?.finish(nameOf) ?? null;
  }

  discard(): void {
    this.#container?.discard();
  }
}
