import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { registers } from '../../../schemas/registers.ts';
import {
  type ChangeBlock,
  type ChangeFile,
  type ChangeFileFacts,
  openChangeFile,
  recordsOf,
} from '../../changes/change-file.ts';
import { CompareError } from '../../changes/errors.ts';
import { baseline } from '../../changes/record-bytes.ts';
import { keyAt } from '../../registers/ruc-key.ts';
import { ConflictList } from '../listings.ts';
import { type OverlayEntry, OverlayReader, rowOfCells } from '../overlay-file.ts';
import { type CompareLimits, type CorrectInput, type CorrectResult, compareLimits, type Progress } from '../types.ts';
import { attemptName, sweepWorkFiles } from '../work-files.ts';
import { RowComparer } from './compare-rows.ts';
import { openBase } from './edition-index.ts';
import { EditionWriter, editionFileName, neededFiles } from './edition-writer.ts';
import { bucketBits, bucketCount, type IndexHeader } from './index-format.ts';
import { nothingRead, resultOf } from './result.ts';
import { BaseRows, type StoredRow } from './row-store.ts';
import { RowDecoder } from './rows.ts';
import { largeModule } from './scan-thread.ts';

interface CorrectionDependencies {
  /** The head's rows. */
  rows: BaseRows;
  overlay: OverlayReader;
  writer: EditionWriter;
  conflicts: ConflictList;
  columns: readonly string[];
}

/**
 * Goes through an edition's changes in RUC order and undoes each change whose result is still in the head. At the same
 * time it reads the head's overlay, because the new overlay gets the entries of all other RUCs from there.
 */
class Correction {
  readonly #dependencies: CorrectionDependencies;
  readonly #changes: RowDecoder;
  readonly #comparer: RowComparer;
  #bucket = 0;

  constructor(dependencies: CorrectionDependencies) {
    this.#dependencies = dependencies;
    this.#changes = new RowDecoder(dependencies.columns.length);
    // The compared rows are both stored rows. So an empty cell is really empty and keeps no earlier value.
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
      this.#endBucketsBelow(key >>> bucketBits);
      while (overlay.hasBelow(ruc)) this.#carry(await overlay.take());
      if (this.#undo(key, ruc, before, after) && overlay.isAt(ruc)) await overlay.take();
    }
  }

  async end(): Promise<void> {
    const { overlay } = this.#dependencies;
    while (overlay.hasBelow('~')) this.#carry(await overlay.take());
    this.#endBucketsBelow(bucketCount);
  }

  /** Returns true if the RUC got its earlier row back, false for a conflict. */
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

  #endBucketsBelow(bucket: number): void {
    for (; this.#bucket < bucket; this.#bucket += 1) this.#dependencies.writer.endBucket();
  }
}

/**
 * Makes the edition that undoes an earlier one: each RUC that still has the row of that edition gets its earlier row
 * back. The same input gives the same bytes, and the next comparison starts from this edition as from any other.
 * @throws CompareError `not_correctable`, `change_file_damaged`, `index_missing`, `index_damaged`, `parser_changed`;
 *   the signal's reason when aborted
 */
export async function correctEdition(
  input: CorrectInput,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<CorrectResult> {
  const limits: CompareLimits = { ...compareLimits, ...input.limits };
  const { register, workDir, outputDir } = input;
  mkdirSync(workDir, { recursive: true });
  mkdirSync(outputDir, { recursive: true });
  report({ phase: 'index', done: 0, total: 1, lines: 0 });
  const base = openBase(input, input.base);
  const facts = factsOf(input, base.header);
  const attempt = randomUUID();
  const { emptyMarkers } = largeModule(register).format;
  const corrected = await openChangeFile(input.correctedFile);
  let [rows, overlay, writer]: [BaseRows | null, OverlayReader | null, EditionWriter | null] = [null, null, null];
  try {
    requireCorrectable(input, corrected, facts);
    rows = new BaseRows(workDir, register, base);
    overlay = await OverlayReader.open(input.overlayPath);
    writer = new EditionWriter({ facts, base, workDir, outputDir, attempt, emptyMarkers });
    const conflicts = new ConflictList(input.corrects, limits.maxRejectLines);
    const correction = new Correction({ rows, overlay, writer, conflicts, columns: facts.columns });
    for await (const block of corrected.blocks()) {
      signal.throwIfAborted();
      await correction.add(block);
    }
    await correction.end();
    report({ phase: 'finish', done: 0, total: 1, lines: 0 });
    const written = writer.finish();
    const conflictName = editionFileName(facts, 'conflicts', written.changeFile.sha256, 'ndjson');
    const conflictFile = conflicts.write(outputDir, attemptName(register, attempt, 'conflicts'), conflictName);
    sweepWorkFiles(workDir, register, neededFiles(register, [base.header, written.index]), limits.maxAttemptAgeMs);
    sweepWorkFiles(outputDir, register, null, limits.maxAttemptAgeMs);
    return { ...resultOf(facts, writer, written, nothingRead), conflicts: conflicts.count, conflictFile };
  } finally {
    writer?.discard();
    await overlay?.close();
    rows?.close();
    await corrected.close();
  }
}

/** Returns the facts of the new edition. A correction parses nothing, so the parser version is the head's. */
function factsOf(input: CorrectInput, base: IndexHeader): ChangeFileFacts {
  const { register, edition, detectedAt, corrects } = input;
  const columns = registers[register].columns.map(({ name }) => name);
  if (base.columns.join() !== columns.join()) {
    throw new CompareError(
      'parser_changed',
      'The head has other columns than this program: a re-baseline comes first.',
    );
  }
  const { changeFileSha256: baseSha256, parserVersion, hashSeed } = base;
  return { register, edition, baseSha256, detectedAt, parserVersion, columns, hashSeed, isFull: false, corrects };
}

function requireCorrectable(
  { register, corrects }: CorrectInput,
  { header }: ChangeFile,
  facts: ChangeFileFacts,
): void {
  if (header.register !== register || header.edition !== corrects) {
    throw new CompareError('change_file_damaged', `The change file is not that of edition ${corrects}.`);
  }
  const why = header.isFull
    ? 'it states every row of the register'
    : header.columns.join() === facts.columns.join()
      ? null
      : 'it has other columns than the head';
  if (why !== null) throw new CompareError('not_correctable', `Edition ${corrects} cannot be undone: ${why}.`);
}
