import { type ChangeFileFacts, ChangeWriter, OverlayWriter, type RowAt } from './change-writer.ts';
import type { ContainerFile } from './container.ts';
import { finishEdition } from './edition-files.ts';
import type { EditionIndex } from './edition-index.ts';
import { BucketEdits, IndexBuilder } from './index-builder.ts';
import type { IndexHeader } from './index-header.ts';
import { SegmentWriter, type StoredRow } from './row-store.ts';
import { hashOfRow } from './scan.ts';
import { Tally } from './tally.ts';
import { attemptName } from './work-files.ts';

export interface EditionPlan {
  facts: ChangeFileFacts;
  /** What the new index is made from; null for a full edition. */
  base: EditionIndex | null;
  workDir: string;
  outputDir: string;
  /** Tells this attempt's working files from those of another. */
  attempt: string;
  emptyMarkers: readonly string[];
}

export interface WrittenEdition {
  changeFile: ContainerFile;
  overlayFile: ContainerFile | null;
  index: IndexHeader;
}

/**
 * All that an edition writes, side by side: change file, overlay, row store, index and counts. Rows come in RUC order, and
 * `endBucket` is called after each range of keys.
 */
export class EditionWriter {
  readonly tally: Tally;
  readonly overlay: OverlayWriter;
  readonly #plan: EditionPlan;
  readonly #changes: ChangeWriter;
  readonly #segment: SegmentWriter;
  readonly #builder: IndexBuilder;
  readonly #edits = new BucketEdits();
  readonly #hash = new Int32Array(2);

  constructor(plan: EditionPlan) {
    const { facts, base, workDir, outputDir, attempt, emptyMarkers } = plan;
    const name = (kind: string) => attemptName(facts.register, attempt, kind);
    this.#plan = plan;
    this.tally = new Tally(facts.columns, base?.header ?? null);
    this.#changes = new ChangeWriter(outputDir, name('changes'), facts, emptyMarkers);
    this.overlay = new OverlayWriter(outputDir, name('overlay'), facts);
    this.#segment = new SegmentWriter(workDir, name('rows'), base?.header.segments ?? []);
    this.#builder = new IndexBuilder(workDir, name('index'), base);
  }

  /** A row that was not there, or that a full edition states anew. */
  insert(op: 'r' | 'c', key: number, row: StoredRow, line: number | null): void {
    this.#store(key, row);
    this.#changes.write(op, null, row, line);
    this.tally.count(key, op === 'r' ? 'baseline' : 'inserted', 0);
  }

  /** `changed`: bit c for column c. */
  update(key: number, before: RowAt, after: StoredRow, line: number | null, changed: number): void {
    this.#store(key, after);
    this.#changes.write('u', before, after, line);
    this.tally.count(key, 'updated', changed);
  }

  remove(key: number, before: RowAt): void {
    this.#edits.remove(key);
    this.#changes.write('d', before, null, null);
    this.tally.count(key, 'deleted', 0);
  }

  endBucket(): void {
    this.#builder.addBucket(this.#edits);
    this.#edits.clear();
  }

  /** Order of the writes: the change file gives the name; rows before the index that points at them. */
  finish(): WrittenEdition {
    const { facts, base } = this.#plan;
    const name = (kind: string, sha256: string) => editionFileName(facts, kind, sha256, 'avro');
    const changeFile = this.#changes.finish((sha256) => name('changes', sha256));
    const overlayFile = this.overlay.finish((sha256) => name('overlay', sha256));
    const index = finishEdition({
      facts,
      changeFileSha256: changeFile.sha256,
      base: base?.header ?? null,
      segment: this.#segment,
      builder: this.#builder,
      tally: this.tally,
      empty: this.#changes.empty.byColumn,
    });
    return { changeFile, overlayFile, index };
  }

  /** Gives up what is not finished. */
  discard(): void {
    for (const writer of [this.#changes, this.overlay, this.#segment, this.#builder]) writer.discard();
  }

  #store(key: number, row: StoredRow): void {
    const position = this.#segment.append(row);
    hashOfRow(row.view, row.start, row.end, this.#plan.facts.hashSeed, this.#hash);
    this.#edits.set(key, this.#hash[0]!, this.#hash[1]!, position);
  }
}

export function editionFileName(facts: ChangeFileFacts, kind: string, sha256: string, end: string): string {
  return `${facts.register}.${facts.edition}.${kind}.${sha256}.${end}`;
}
