import { mkdirSync } from 'node:fs';
import { registers } from '../../../schemas/registers.ts';
import { CompareError } from '../errors.ts';
import { type CorrectInput, type CorrectResult, compareLimits, type Progress } from '../types.ts';
import { sweepWorkFiles } from '../work-files.ts';
import { columnsOf, openBase, requireSameParser } from './base.ts';
import { correctedOverlay, undo } from './correction.ts';
import { countsOf } from './counts.ts';
import { finishState } from './finish.ts';
import { EditionOutputs } from './outputs.ts';
import { type ReadChangeFile, readChangeFile, readOverlay } from './records.ts';
import type { Cells, OverlayRow } from './state.ts';

/**
 * Makes the edition that undoes an earlier one. Repeatable: the same input gives the same bytes.
 * @throws CompareError `not_correctable`, `parser_changed`, `change_file_damaged`, `index_missing`, `index_damaged`; the
 * signal's reason when aborted
 */
export async function correctSmall(
  input: CorrectInput,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<CorrectResult> {
  for (const folder of [input.workDir, input.outputDir]) mkdirSync(folder, { recursive: true });
  report({ phase: 'merge', done: 0, total: 1, lines: 0 });
  const head = openBase(input);
  requireSameParser(input.register, head);
  const edition = await readChangeFile(input.correctedFile, null);
  requireCorrectable(input, edition);
  const { changes, conflicts } = undo(head.rows, edition.changes);
  const overlay = correctedOverlay(await headOverlay(input), changes);
  signal.throwIfAborted();
  report({ phase: 'finish', done: 0, total: 1, lines: 0 });
  const rows = new Map<string, Cells>(head.rows);
  for (const { key, after } of changes) after === null ? rows.delete(key) : rows.set(key, after);
  return write(input, { rows, changes, conflicts, overlay });
}

function requireCorrectable({ register, corrects }: CorrectInput, edition: ReadChangeFile): void {
  if (edition.register !== register || edition.edition !== corrects) {
    throw new CompareError('change_file_damaged', `The change file to undo is not that of edition ${corrects}.`);
  }
  if (edition.changes.some(({ op }) => op === 'r')) {
    throw new CompareError('not_correctable', `Edition ${corrects} holds first rows: there is nothing before them.`);
  }
  if (edition.columns.join() !== columnsOf(register).join()) {
    throw new CompareError('not_correctable', `Edition ${corrects} has other columns than the register has now.`);
  }
}

async function headOverlay({ register, overlayPath }: CorrectInput): Promise<OverlayRow[]> {
  const columns = columnsOf(register);
  return (await readOverlay(overlayPath)).map(({ ruc, reason, line, row }) => {
    return { key: ruc, reason, line, row: row && columns.map((name) => row[name]!) };
  });
}

type Corrected = ReturnType<typeof undo> & { rows: ReadonlyMap<string, Cells>; overlay: OverlayRow[] };

function write(input: CorrectInput, { rows, changes, conflicts, overlay }: Corrected): CorrectResult {
  const { register, edition, detectedAt, corrects, outputDir, workDir, base } = input;
  const { maxAttemptAgeMs } = { ...compareLimits, ...input.limits };
  const { parserVersion } = registers[register];
  const columns = columnsOf(register);
  const baseSha256 = base.changeFileSha256;
  const outputs = new EditionOutputs(outputDir, {
    ...{ register, edition, baseSha256, detectedAt, parserVersion, columns, corrects },
  });
  const changeFile = outputs.changes(changes);
  const overlayFile = outputs.overlay(overlay);
  const conflictFile = outputs.conflicts(conflicts, changeFile.sha256);
  const state = { edition, changeFileSha256: changeFile.sha256, parserVersion, columns, rows };
  const { indexName } = finishState(workDir, register, state, baseSha256, maxAttemptAgeMs);
  sweepWorkFiles(outputDir, register, null, maxAttemptAgeMs);
  const counts = countsOf(
    columns,
    columns.map(() => true),
    changes,
    rows,
  );
  return {
    changeFile,
    overlayFile,
    conflictFile,
    conflicts: conflicts.length,
    ...noPublication,
    unchanged: rows.size - counts.inserted - counts.updated,
    ...counts,
    parserVersion,
    columns,
    indexName,
  };
}

/** A correction reads no publication. */
const noPublication = {
  rejectFile: null,
  lines: 0,
  rows: 0,
  rejected: 0,
  rejectedByReason: {},
  duplicates: 0,
  emptyNames: 0,
  kept: 0,
  keptCells: 0,
  header: '',
} as const;
