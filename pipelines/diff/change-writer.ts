import { rucLength } from '../../schemas/ruc.ts';
import { writeBranch, writeLong, writeNullableLong, writeString } from '../changes/avro.ts';
import { type ChangeFileFacts, type EditionFacts, type HashSeed, metadataOf } from '../changes/change-file.ts';
import { type ContainerFile, ContainerWriter } from '../changes/container-writer.ts';
import { ChangeEncoder, type Operation, type RowAt } from '../changes/record-bytes.ts';
import { changeSchema, namedBytes, type OverlayReason, overlayReasons, overlaySchema } from '../changes/schema.ts';
import { EmptyCells, encodeRow } from './large/rows.ts';
import { attemptName, editionFileName } from './work-files.ts';

/**
 * Begins the change file of an edition.
 * @param syncName `sync` for large registers, `changes` for small ones. The 16 bytes that end each block are a hash of
 *   this name and of the edition's facts.
 */
export function beginChanges(
  folder: string,
  facts: EditionFacts & { hashSeed?: HashSeed },
  syncName: 'sync' | 'changes',
): ContainerWriter {
  const { register } = facts;
  const attempt = attemptName(register, 'changes');
  return new ContainerWriter(folder, attempt, changeSchema(register), metadataOf(facts), syncOf(syncName, facts));
}

/** Begins the overlay of an edition. `overlaySchema` explains overlays. */
export function beginOverlay(folder: string, facts: EditionFacts): ContainerWriter {
  const { register, edition } = facts;
  const metadata = { 'padron.register': register, 'padron.edition': String(edition) };
  const attempt = attemptName(register, 'overlay');
  return new ContainerWriter(folder, attempt, overlaySchema(register), metadata, syncOf('overlay', facts));
}

function syncOf(name: string, { register, edition, baseSha256, detectedAt }: EditionFacts): Buffer {
  return namedBytes(16, name, register, edition, baseSha256, detectedAt);
}

/** Writes an edition's change file from the bytes of its rows. Callers give the rows in RUC order. */
export class ChangeWriter {
  readonly #facts: ChangeFileFacts;
  readonly #container: ContainerWriter;
  readonly #encoder: ChangeEncoder;
  #seq = 0;
  /**
   * For each column, by how much this edition changes the number of empty cells: `after` rows add, `before` rows
   * subtract. For a full edition it is the whole number of empty cells, so `before` rows subtract nothing.
   */
  readonly empty: EmptyCells;

  constructor(folder: string, facts: ChangeFileFacts, emptyMarkers: readonly string[]) {
    this.#facts = facts;
    this.#container = beginChanges(folder, facts, 'sync');
    const empty = new EmptyCells(facts.columns.length, emptyMarkers);
    // A full edition counts its empty cells from zero, so its `before` rows subtract nothing.
    const beforeSign = facts.isFull ? 0 : -1;
    this.#encoder = new ChangeEncoder(facts, (to, at, row, isAfter) =>
      encodeRow(to, at, row.bytes, row.start, empty, isAfter ? 1 : beforeSign),
    );
    this.empty = empty;
  }

  write(op: Operation, before: RowAt | null, after: RowAt | null, line: number | null): void {
    const container = this.#container;
    container.at = this.#encoder.write(container.buffer, container.at, op, this.#seq, before, after, line);
    this.#seq += 1;
    container.endRecord();
  }

  finish(): ContainerFile {
    return this.#container.finish((sha256) => editionFileName(this.#facts, 'changes', sha256, 'avro'));
  }

  discard(): void {
    this.#container.discard();
  }
}

/** Writes an overlay: the rows in which the state differs from the publication. Without such rows it makes no file. */
export class OverlayWriter {
  readonly #folder: string;
  readonly #facts: ChangeFileFacts;
  readonly #uncounted: EmptyCells;
  #container: ContainerWriter | null = null;

  constructor(folder: string, facts: ChangeFileFacts) {
    this.#folder = folder;
    this.#facts = facts;
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
    this.#container ??= beginOverlay(this.#folder, this.#facts);
    const container = this.#container;
    const to = container.buffer;
    let at = writeString(to, container.at, row.bytes, row.start, rucLength);
    at = writeLong(to, at, overlayReasons.indexOf(reason));
    container.at = writeNullableLong(to, at, line);
    return container;
  }

  finish(): ContainerFile | null {
    return this.#container?.finish((sha256) => editionFileName(this.#facts, 'overlay', sha256, 'avro')) ?? null;
  }

  discard(): void {
    this.#container?.discard();
  }
}
