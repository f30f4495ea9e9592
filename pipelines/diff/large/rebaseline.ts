import { join } from 'node:path';
import type { ChangeFileFacts } from '../../changes/change-file.ts';
import { readingPrevious } from '../../changes/errors.ts';
import { rucOfKey } from '../../registers/ruc-key.ts';
import { decodeWindows1252 } from '../../registers/windows-1252.ts';
import { RejectList } from '../listings.ts';
import { type OverlayEntry, OverlayReader, rowOfCells } from '../overlay-file.ts';
import type { CompareInput, CompareLimits, Progress } from '../types.ts';
import { attemptName } from '../work-files.ts';
import { Classifier } from './classify.ts';
import type { RowComparer } from './compare-rows.ts';
import type { EditionWriter } from './edition-writer.ts';
import { bucketCount, keysPerBucket } from './index-format.ts';
import { eachBucket, LastLines } from './merge.ts';
import { classifyPages, type LargeModule, openReading } from './reading.ts';
import { type BaseRows, emptyRow, type StoredRow } from './row-store.ts';
import { cellEnds } from './scan.ts';
import { Spill } from './spill.ts';

interface RebaselineDependencies {
  previous: NonNullable<CompareInput['previous']>;
  module: LargeModule;
  limits: CompareLimits;
  facts: ChangeFileFacts;
  /**
   * The head's index and rows. The index shows which RUCs the head has. The cells of a RUC come from the overlay or the
   * head's publication, which today's parser reads again. The rows here are used only for a RUC that both lack.
   */
  baseRows: BaseRows;
  /** The rows of the new publication. `classifier` put them there. */
  spill: Spill;
  classifier: Classifier;
  rejects: RejectList;
  comparer: RowComparer;
  writer: EditionWriter;
}

/**
 * Makes the second pass of a re-baseline (the first edition with a new parser version or new columns). Today's parser
 * reads the head's publication again. The new publication is compared with this reading and the head's overlay.
 * Otherwise a new parser alone would make changes. Every row of the register is written to the change file.
 * @throws CompareError `previous_unreadable` when the head's publication cannot be read; `change_file_damaged` when the
 *   overlay is damaged; the signal's reason when aborted
 */
export async function writeRebaseline(
  dependencies: RebaselineDependencies,
  workDir: string,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<void> {
  const { module, limits, facts } = dependencies;
  const { publicationPath, overlayPath, knownColumns } = dependencies.previous;
  const spill = new Spill(join(workDir, attemptName(facts.register, 'previous')));
  const reading = await readingPrevious(() => openReading(module, publicationPath, limits));
  const overlay = await OverlayReader.open(overlayPath);
  try {
    // The bad lines of the head's publication were listed when it was new, so this list keeps none.
    const rejects = new RejectList(0);
    const { cells } = module.format;
    const seed = facts.hashSeed;
    const previous = new Classifier({ base: null, known: null, spill, rejects, seed, cells });
    const pages = reading.start(seed);
    await readingPrevious(() => classifyPages(pages, reading.text.textBytes, previous, report, signal));
    const known = facts.columns.map((name) => knownColumns.includes(name));
    const rebaseline = new Rebaseline(dependencies, new LastLines(spill), overlay, known);
    await eachBucket((bucket) => rebaseline.add(bucket), dependencies.classifier.lines, report, signal);
  } finally {
    await overlay.close();
    await reading.close();
    spill.close();
  }
}

class Rebaseline {
  readonly #dependencies: RebaselineDependencies;
  readonly #base: BaseRows;
  readonly #lines: LastLines;
  readonly #previous: LastLines;
  readonly #overlay: OverlayReader;
  /** Bit c is set if the head had column c. */
  readonly #knownColumns: number;
  readonly #row = emptyRow(0);
  readonly #previousRow = emptyRow(0);
  readonly #nothingSeen: Int32Array;
  #entries = new Map<string, OverlayEntry>();

  constructor(
    dependencies: RebaselineDependencies,
    previous: LastLines,
    overlay: OverlayReader,
    known: readonly boolean[],
  ) {
    this.#dependencies = dependencies;
    this.#base = dependencies.baseRows;
    this.#lines = new LastLines(dependencies.spill);
    this.#previous = previous;
    this.#overlay = overlay;
    this.#knownColumns = known.reduce((bits, isKnown, column) => (isKnown ? bits | (1 << column) : bits), 0);
    this.#nothingSeen = new Int32Array((this.#base.index.header.rows >>> 5) + 1);
  }

  async add(bucket: number): Promise<void> {
    await this.#takeEntries(bucket);
    const { rejects } = this.#dependencies;
    const keys = this.#lines.take(bucket, (_, { bytes, starts, ends, lines }, entry) =>
      rejects.add('duplicate', lines[entry]!, bytes, starts[entry]!, ends[entry]!),
    );
    this.#previous.take(bucket, () => {});
    const known = this.#base.index.unseenKeys(bucket, this.#nothingSeen);
    let next = 0;
    for (const key of keys) {
      while (next < known.length && known[next]! < key) this.#end(known[next++]!);
      if (known[next] === key) {
        next += 1;
        this.#compare(key);
      } else this.#appear(key);
    }
    while (next < known.length) this.#end(known[next++]!);
  }

  async #takeEntries(bucket: number): Promise<void> {
    this.#entries = new Map();
    const next = (bucket + 1) * keysPerBucket;
    const end = bucket + 1 < bucketCount ? rucOfKey(next) : '~';
    while (this.#overlay.hasBelow(end)) {
      const entry = await this.#overlay.take();
      this.#entries.set(entry.ruc, entry);
    }
  }

  /**
   * Handles a RUC that the head and the new publication have. Today's parser reads the old and the new publication. If
   * it reads different cells in a column that the head had, the row is an update (`u`). Else the row is no change
   * (`r`).
   */
  #compare(key: number): void {
    const { comparer, writer } = this.#dependencies;
    const line = this.#lines.read(key, this.#row);
    const before = this.#before(key);
    const { changed, after, merged } = comparer.compare(before, this.#row);
    if (merged) {
      writer.overlay.write(after, 'empty_cell', line);
      writer.tally.keptCells += 1;
    }
    // False if `before` (see `#before`) comes from the head's row store, because neither the head's publication nor
    // the overlay has the RUC. An older parser read that row, so its difference from `after` proves no change.
    const isComparable = this.#previous.has(key) || this.#entries.has(rucOfKey(key));
    const changedInWorld = isComparable ? changed & this.#knownColumns : 0;
    if (changedInWorld === 0) writer.insert('r', key, after, line);
    else writer.update(key, before, after, line, changedInWorld);
  }

  /**
   * Handles a row whose RUC the head does not have. The row is new (`c`), unless an older parser missed it in the
   * head's publication. A missed row is no change (`r`). A row that a correction removed from the head is new again
   * (`c`).
   */
  #appear(key: number): void {
    const line = this.#lines.read(key, this.#row);
    const wasPublished = this.#previous.has(key) && this.#entries.get(rucOfKey(key))?.row !== null;
    this.#dependencies.writer.insert(wasPublished ? 'r' : 'c', key, this.#row, line);
  }

  #end(key: number): void {
    const { classifier, writer } = this.#dependencies;
    const rank = this.#base.index.rankOf(key);
    const before = this.#before(key);
    if ((classifier.seenBad[rank >>> 5]! >>> (rank & 31)) & 1) {
      writer.overlay.write(before, 'bad_line', null);
      writer.tally.kept += 1;
      writer.insert('r', key, before, null);
    } else writer.remove(key, before);
  }

  /**
   * Returns the head's row of a RUC, in today's columns. Each cell comes from the overlay, else from the head's
   * publication. If both lack the RUC, the cells come from the head's row store.
   */
  #before(key: number): StoredRow {
    const ruc = rucOfKey(key);
    const kept = this.#entries.get(ruc)?.row ?? null;
    const isPublished = this.#previous.has(key);
    if (isPublished) this.#previous.read(key, this.#previousRow);
    if (kept === null && isPublished) return this.#previousRow;
    const { columns } = this.#dependencies.facts;
    const published = isPublished ? cellsByColumn(this.#previousRow, columns) : {};
    const own = kept ?? cellsByColumn(this.#base.find(key)!, this.#base.index.header.columns);
    return rowOfCells(
      ruc,
      columns.map((column) => own[column] ?? published[column] ?? ''),
    );
  }
}

function cellsByColumn({ bytes, start }: StoredRow, columns: readonly string[]): Record<string, string> {
  const ends = new Int32Array(columns.length + 1);
  cellEnds(bytes, start, ends);
  const textOf = (column: number) => decodeWindows1252(bytes, ends[column]! + 1, ends[column + 1]!);
  return Object.fromEntries(columns.map((name, column) => [name, textOf(column)]));
}
