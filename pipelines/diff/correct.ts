import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { registers } from '../../schemas/registers.ts';
import { BaseRows } from './base-rows.ts';
import { type ChangeFile, openChangeFile } from './change-file.ts';
import type { ChangeFileFacts } from './change-writer.ts';
import { ConflictList } from './conflict-list.ts';
import { Correction } from './correction.ts';
import { neededFiles } from './edition-files.ts';
import { EditionWriter, editionFileName } from './edition-writer.ts';
import { CompareError } from './errors.ts';
import type { IndexHeader } from './index-header.ts';
import { largeModule } from './large-module.ts';
import { openBase } from './open-base.ts';
import { OverlayReader } from './overlay-file.ts';
import { nothingRead, resultOf } from './result.ts';
import { type CompareLimits, type CorrectInput, type CorrectResult, compareLimits, type Progress } from './types.ts';
import { attemptName, sweepWorkFiles } from './work-files.ts';

/**
 * Undoes an edition: makes the next one, in which each RUC that still has the row which the undone edition gave gets the
 * row from before. Repeatable as a comparison is, and as exact a base for the next.
 *
 * Errors: `CompareError` (`not_correctable`, `change_file_damaged`, `index_missing`, `index_damaged`, `parser_changed`); the
 * signal's reason when aborted.
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

/** Nothing is parsed, so the new edition is in the head's parser version. */
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
