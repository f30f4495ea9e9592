import type { RegisterName } from '../../../schemas/registers.ts';
import type { ChangeFileFacts } from '../../changes/change-file.ts';
import type { Operation, RowAt } from '../../changes/record-bytes.ts';
import { ChangeWriter, OverlayWriter } from '../change-writer.ts';
import { Tally, type WrittenEdition } from '../counts.ts';
import { attemptName, workFileName } from '../work-files.ts';
import type { EditionIndex } from './edition-index.ts';
import { IndexBuilder } from './index-builder.ts';
import type { IndexHeader } from './index-format.ts';
import { SegmentWriter, type StoredRow } from './row-store.ts';
import { hashOfRow } from './scan.ts';

const keysPerPrefix = 100_000_000;

/**
 * Writes an edition's row segment (the rows that it adds to the row store) and its index. Callers must give rows in RUC
 * order. Comparison, correction and rebuild all use this class. So a rebuilt index equals the original bit for bit.
 */
export class StateWriter {
  readonly tally: Tally;
  readonly #facts: ChangeFileFacts;
  readonly #base: IndexHeader | null;
  readonly #segment: SegmentWriter;
  readonly #builder: IndexBuilder;
  readonly #hash = new Int32Array(2);

  /** `base` is the index from which the new index is made. It is null for a first edition or a re-baseline. */
  constructor(workDir: string, facts: ChangeFileFacts, base: EditionIndex | null) {
    this.#facts = facts;
    this.#base = base?.header ?? null;
    this.tally = new Tally(facts.columns, this.#base?.rowsByKind ?? null);
    this.#segment = new SegmentWriter(workDir, attemptName(facts.register, 'rows'), this.#base?.segments ?? []);
    this.#builder = new IndexBuilder(workDir, attemptName(facts.register, 'index'), base);
  }

  /** Adds a row or replaces the row of its key. Bit c of `changed` is set if an update changed column c. */
  set(op: Operation, key: number, row: StoredRow, changed: number): void {
    const position = this.#segment.append(row);
    hashOfRow(row.view, row.start, row.end, this.#facts.hashSeed, this.#hash);
    this.#builder.set(key, this.#hash[0]!, this.#hash[1]!, position);
    this.tally.count(Math.floor(key / keysPerPrefix), op, changed);
  }

  remove(key: number): void {
    this.#builder.remove(key);
    this.tally.count(Math.floor(key / keysPerPrefix), 'd', 0);
  }

  /**
   * Gives the row segment and the index their final names. The segment comes first, because the index points to its
   * rows.
   * @param empty for each column, by how much this edition changes the number of empty cells. A full edition has no
   *   base whose number could change, so there it is the whole number.
   */
  finish(changeFileSha256: string, empty: Float64Array): IndexHeader {
    const { register, edition, parserVersion, columns, hashSeed } = this.#facts;
    const base = this.#base;
    const segments = [...(base?.segments ?? [])];
    if (this.#segment.bytes > 0) {
      segments.push({ changeFileSha256, bytes: this.#segment.bytes });
      this.#segment.finish(workFileName(register, changeFileSha256, 'rows'));
    }
    const emptyOf = (column: string, at: number) => (base?.emptyByColumn[column] ?? 0) + empty[at]!;
    return this.#builder.finish(workFileName(register, changeFileSha256, 'index'), {
      register,
      edition,
      changeFileSha256,
      parserVersion,
      columns: [...columns],
      hashSeed,
      rowsByKind: this.tally.rowsByKind,
      emptyByColumn: Object.fromEntries(columns.map((column, at) => [column, emptyOf(column, at)])),
      segments,
    });
  }

  /** Removes the files that are not finished. */
  discard(): void {
    this.#segment.discard();
    this.#builder.discard();
  }
}

/** Returns the names of the working files that these indexes need. */
export function neededFiles(register: RegisterName, headers: readonly (IndexHeader | null)[]): Set<string> {
  const names = new Set<string>();
  for (const header of headers) {
    if (header === null) continue;
    names.add(workFileName(register, header.changeFileSha256, 'index'));
    for (const { changeFileSha256 } of header.segments) names.add(workFileName(register, changeFileSha256, 'rows'));
  }
  return names;
}

/** Writes all files of an edition at the same time. Callers give rows in RUC order. */
export class EditionWriter {
  readonly overlay: OverlayWriter;
  readonly #changes: ChangeWriter;
  readonly #state: StateWriter;

  /** `base` is the index from which the new index is made; null for a full edition. */
  constructor(
    { workDir, outputDir }: { workDir: string; outputDir: string },
    facts: ChangeFileFacts,
    base: EditionIndex | null,
    emptyMarkers: readonly string[],
  ) {
    this.#changes = new ChangeWriter(outputDir, facts, emptyMarkers);
    this.overlay = new OverlayWriter(outputDir, facts);
    this.#state = new StateWriter(workDir, facts, base);
  }

  get tally(): Tally {
    return this.#state.tally;
  }

  /**
   * Writes a record that has no `before`. Its op is `c` if the register did not have the key. It is `r` in a first
   * edition, and for a row that a re-baseline only repeats.
   */
  insert(op: 'r' | 'c', key: number, row: StoredRow, line: number | null): void {
    this.#state.set(op, key, row, 0);
    this.#changes.write(op, null, row, line);
  }

  /** Writes a row that differs. Bit c of `changed` is set if column c differs. */
  update(key: number, before: RowAt, after: StoredRow, line: number | null, changed: number): void {
    this.#state.set('u', key, after, changed);
    this.#changes.write('u', before, after, line);
  }

  remove(key: number, before: RowAt): void {
    this.#state.remove(key);
    this.#changes.write('d', before, null, null);
  }

  /** Finishes the change file first, because its hash is part of the names of the row segment and the index. */
  finish(): WrittenEdition & { index: IndexHeader } {
    const changeFile = this.#changes.finish();
    const overlayFile = this.overlay.finish();
    const index = this.#state.finish(changeFile.sha256, this.#changes.empty.byColumn);
    return { changeFile, overlayFile, stateRows: index.rows, emptyByColumn: index.emptyByColumn, index };
  }

  /** Removes the files that are not finished. */
  discard(): void {
    for (const writer of [this.#changes, this.overlay, this.#state]) writer.discard();
  }
}
