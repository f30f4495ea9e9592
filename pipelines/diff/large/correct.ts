import { mkdirSync } from 'node:fs';
import { type ChangeBlock, openChangeFile, recordsOf } from '../../changes/change-file.ts';
import { CompareError } from '../../changes/errors.ts';
import { baseline } from '../../changes/record-bytes.ts';
import { keyAt } from '../../registers/ruc-key.ts';
import { nothingRead, resultOf } from '../counts.ts';
import { correctingEdition, requireCorrectable } from '../edition.ts';
import { ConflictList } from '../listings.ts';
import { type OverlayEntry, OverlayReader, rowOfCells } from '../overlay-file.ts';
import type { CorrectInput, CorrectResult, Progress } from '../types.ts';
import { sweepWorkFiles } from '../work-files.ts';
import { RowComparer } from './compare-rows.ts';
import { openBase } from './edition-index.ts';
import { EditionWriter, neededFiles } from './edition-writer.ts';
import { largeModule } from './reading.ts';
import { BaseRows, type StoredRow } from './row-store.ts';
import { RowDecoder } from './rows.ts';

interface CorrectionDependencies {
  /** The head's rows. */
  rows: BaseRows;
  overlay: OverlayReader;
  writer: EditionWriter;
  conflicts: ConflictList;
  columns: readonly string[];
}

/**
 * Goes through an edition's changes in RUC order and undoes each change whose result the head still has. The entries of
 * the head's overlay go to the new overlay, except entries of a RUC whose change is undone.
 */
class Correction {
  readonly #dependencies: CorrectionDependencies;
  readonly #changes: RowDecoder;
  readonly #comparer: RowComparer;

  constructor(dependencies: CorrectionDependencies) {
    this.#dependencies = dependencies;
    this.#changes = new RowDecoder(dependencies.columns.length);
    // Here an empty cell never means that the earlier value stays, as it does in some columns of a publication. Both
    // compared rows come from stored states, in which an empty cell is really empty.
    this.#comparer = new RowComparer(dependencies.columns.map(() => false));
  }

  async add(block: ChangeBlock): Promise<void> {
    const { overlay } = this.#dependencies;
    for (const record of recordsOf(block)) {
      if (record.op === baseline)
        throw new CompareError('not_correctable', 'The edition holds first rows: there is nothing before.');
      const { before, after } = this.#changes.read(record);
      const ruc = record.key();
      const row = (after ?? before)!;
      const key = keyAt(row.bytes, row.start, row.end);
      while (overlay.hasBelow(ruc)) this.#carry(await overlay.take());
      if (this.#undo(key, ruc, before, after) && overlay.isAt(ruc)) await overlay.take();
    }
  }

  async end(): Promise<void> {
    const { overlay } = this.#dependencies;
    while (overlay.hasBelow('~')) this.#carry(await overlay.take());
  }

  /**
   * Undoes the change of one RUC and returns true. If the head's row is not the one that the change left, it lists a
   * conflict and returns false.
   */
  #undo(key: number, ruc: string, before: StoredRow | null, after: StoredRow | null): boolean {
    const { rows, writer, conflicts } = this.#dependencies;
    const current = rows.find(key);
    if (after === null && current !== null) conflicts.add(ruc, 'came_back');
    else if (after !== null && current === null) conflicts.add(ruc, 'gone');
    else if (after !== null && this.#comparer.compare(current!, after).changed !== 0)
      conflicts.add(ruc, 'changed_again');
    else if (before === null) {
      writer.remove(key, current!);
      writer.overlay.writeAbsent(current!, 'correction', null);
      return true;
    } else {
      if (current === null) writer.insert('c', key, before, null);
      else writer.update(key, current, before, null, this.#comparer.compare(current, before).changed);
      writer.overlay.write(before, 'correction', null);
      return true;
    }
    return false;
  }

  #carry({ ruc, reason, line, row }: OverlayEntry): void {
    const { writer, columns } = this.#dependencies;
    const cells = columns.map((column) => row?.[column] ?? '');
    const bytes = rowOfCells(ruc, cells);
    if (row === null) writer.overlay.writeAbsent(bytes, reason, line);
    else writer.overlay.write(bytes, reason, line);
  }
}

/**
 * Makes the edition that undoes an earlier edition. Each RUC that still has the earlier edition's row gets back the row
 * from before that edition. Equal input gives equal bytes.
 * @throws CompareError `not_correctable`, `change_file_damaged`, `index_missing`, `index_damaged`, `parser_changed`;
 *   the signal's reason when aborted
 */
export async function correctEdition(
  input: CorrectInput,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<CorrectResult> {
  const { register, workDir, outputDir } = input;
  mkdirSync(workDir, { recursive: true });
  mkdirSync(outputDir, { recursive: true });
  report({ phase: 'index', done: 0, total: 1, lines: 0 });
  const base = openBase(input, input.base);
  const { hashSeed } = base.header;
  const facts = { ...correctingEdition(input, base.header), hashSeed };
  const { emptyMarkers } = largeModule(register).format;
  const corrected = await openChangeFile(input.correctedFile);
  let [rows, overlay, writer]: [BaseRows | null, OverlayReader | null, EditionWriter | null] = [null, null, null];
  try {
    requireCorrectable(corrected.header, facts);
    rows = new BaseRows(workDir, register, base);
    overlay = await OverlayReader.open(input.overlayPath);
    writer = new EditionWriter(input, facts, base, emptyMarkers);
    const conflicts = new ConflictList(input.corrects);
    const correction = new Correction({ rows, overlay, writer, conflicts, columns: facts.columns });
    for await (const block of corrected.blocks()) {
      signal.throwIfAborted();
      await correction.add(block);
    }
    await correction.end();
    report({ phase: 'finish', done: 0, total: 1, lines: 0 });
    const { index, ...written } = writer.finish();
    const conflictFile = conflicts.write(outputDir, facts, written.changeFile.sha256);
    sweepWorkFiles(workDir, register, neededFiles(register, [base.header, index]));
    sweepWorkFiles(outputDir, register, null);
    return { ...resultOf(facts, writer.tally, written, nothingRead), conflicts: conflicts.count, conflictFile };
  } finally {
    writer?.discard();
    await overlay?.close();
    rows?.close();
    await corrected.close();
  }
}
