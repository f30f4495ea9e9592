import { mkdirSync } from 'node:fs';
import { CompareError } from '../../changes/errors.ts';
import { nothingRead } from '../large/result.ts';
import { type Conflict, ConflictList } from '../listings.ts';
import { type CompareLimits, type CorrectInput, type CorrectResult, compareLimits, type Progress } from '../types.ts';
import { sweepWorkFiles } from '../work-files.ts';
import { countsOf } from './counts.ts';
import { EditionOutputs, type ReadChangeFile, readChangeFile, readOverlay } from './outputs.ts';
import {
  type Cells,
  columnsOf,
  finishState,
  type OverlayRow,
  openBase,
  type SmallChange,
  type SmallState,
  sameCells,
} from './state.ts';

/**
 * Makes the edition that undoes an earlier edition. The same input gives the same bytes.
 * @throws CompareError `not_correctable`, `parser_changed`, `change_file_damaged`, `index_missing`, `index_damaged`;
 *   the signal's reason when aborted
 */
export async function correctSmall(
  input: CorrectInput,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<CorrectResult> {
  const limits: CompareLimits = { ...compareLimits, ...input.limits };
  for (const folder of [input.workDir, input.outputDir]) mkdirSync(folder, { recursive: true });
  report({ phase: 'index', done: 0, total: 1, lines: 0 });
  const head = openBase(input);
  if (head.columns.join() !== columnsOf(input.register).join()) {
    throw new CompareError(
      'parser_changed',
      'The head has other columns than this program: a re-baseline comes first.',
    );
  }
  const edition = await readChangeFile(input.correctedFile, null);
  requireCorrectable(input, edition, head);
  const overlay = await headOverlay(input.overlayPath, head.columns);
  signal.throwIfAborted();
  report({ phase: 'finish', done: 0, total: 1, lines: 0 });
  return write(input, head, undo(head.rows, edition.changes), overlay, limits);
}

function requireCorrectable({ register, corrects }: CorrectInput, edition: ReadChangeFile, head: SmallState): void {
  if (edition.register !== register || edition.edition !== corrects) {
    throw new CompareError('change_file_damaged', `The change file is not that of edition ${corrects}.`);
  }
  const why = edition.isFull
    ? 'it states every row of the register'
    : edition.columns.join() === head.columns.join()
      ? null
      : 'it has other columns than the head';
  if (why !== null) throw new CompareError('not_correctable', `Edition ${corrects} cannot be undone: ${why}.`);
}

async function headOverlay(path: string | null, columns: readonly string[]): Promise<OverlayRow[]> {
  const entries = await readOverlay(path);
  return entries.map(({ ruc: key, reason, line, row }) => {
    return { key, reason, line, row: row && columns.map((name) => row[name] ?? '') };
  });
}

/** Writes files in the order of compare.ts. A correction parses nothing, so it keeps the head's parser version. */
function write(
  input: CorrectInput,
  head: SmallState,
  { changes, conflicts }: ReturnType<typeof undo>,
  overlay: readonly OverlayRow[],
  limits: CompareLimits,
): CorrectResult {
  const { register, edition, detectedAt, corrects, outputDir, workDir } = input;
  const { parserVersion, changeFileSha256: baseSha256 } = head;
  const columns = [...head.columns];
  const facts = { register, edition, baseSha256, detectedAt, parserVersion, columns, isFull: false, corrects };
  const outputs = new EditionOutputs(outputDir, facts);
  const changeFile = outputs.changes(changes);
  const overlayFile = outputs.overlay(correctedOverlay(overlay, changes));
  const list = new ConflictList(corrects, limits.maxRejectLines);
  for (const { ruc, reason } of conflicts) list.add(ruc, reason);
  const conflictFile = outputs.conflicts(list, changeFile.sha256);
  const rows = new Map<string, Cells>(head.rows);
  for (const { key, after } of changes) after === null ? rows.delete(key) : rows.set(key, after);
  const state = { edition, changeFileSha256: changeFile.sha256, parserVersion, columns, rows };
  const { indexName } = finishState(workDir, register, state, baseSha256, limits.maxAttemptAgeMs);
  sweepWorkFiles(outputDir, register, null, limits.maxAttemptAgeMs);
  const counts = countsOf({ columns, changes, rows, kept: 0, isFull: false });
  const written = { changeFile, overlayFile, conflictFile, conflicts: list.count };
  return { ...nothingRead, ...counts, ...written, keptCells: 0, parserVersion, columns, indexName };
}

/**
 * Undoes an edition's changes, which are in the order of keys. A row that is in the head as the edition left it becomes
 * the earlier row again. Any other row stays and is a conflict, because undoing it would also undo a later change.
 */
function undo(
  head: ReadonlyMap<string, Cells>,
  edition: readonly SmallChange[],
): { changes: SmallChange[]; conflicts: Pick<Conflict, 'ruc' | 'reason'>[] } {
  const changes: SmallChange[] = [];
  const conflicts: Pick<Conflict, 'ruc' | 'reason'>[] = [];
  for (const { key, before: restored, after: given } of edition) {
    const current = head.get(key) ?? null;
    if (given === null ? current !== null : current === null || !sameCells(current, given)) {
      conflicts.push({ ruc: key, reason: given === null ? 'came_back' : current === null ? 'gone' : 'changed_again' });
      continue;
    }
    const op = current === null ? 'c' : restored === null ? 'd' : 'u';
    changes.push({ op, key, before: current, after: restored, line: null });
  }
  return { changes, conflicts };
}

/** The head's overlay with the correction's rows added, or put in place of the entries for the same keys. */
function correctedOverlay(head: readonly OverlayRow[], changes: readonly SmallChange[]): OverlayRow[] {
  const rows = new Map(head.map((row) => [row.key, row]));
  for (const { key, after } of changes) rows.set(key, { key, reason: 'correction', line: null, row: after });
  return [...rows.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
}
