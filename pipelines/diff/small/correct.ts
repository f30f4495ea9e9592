import { mkdirSync } from 'node:fs';
import { type EditionFacts, openChangeFile } from '../../changes/change-file.ts';
import { nothingRead, resultOf } from '../counts.ts';
import { correctingEdition, requireCorrectable } from '../edition.ts';
import { ConflictList } from '../listings.ts';
import type { CorrectInput, CorrectResult, Progress } from '../types.ts';
import { changesIn, readOverlay, withChanges, writeEdition } from './outputs.ts';
import { type Cells, type OverlayRow, openBase, type SmallChange, sameCells } from './state.ts';

/**
 * Makes the edition that undoes an earlier edition. The same input always gives files with the same bytes.
 * @throws CompareError `not_correctable` when the earlier edition wrote every row or has other columns than the head
 * @throws CompareError `parser_changed` when the head has other columns than this program
 * @throws CompareError `index_missing` or `index_damaged` when the head's state must be rebuilt
 * @throws CompareError `change_file_damaged`; the signal's reason when aborted
 */
export async function correctSmall(
  input: CorrectInput,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<CorrectResult> {
  for (const folder of [input.workDir, input.outputDir]) mkdirSync(folder, { recursive: true });
  report({ phase: 'index', done: 0, total: 1, lines: 0 });
  const head = openBase(input, input.base);
  const facts = correctingEdition(input, head);
  const conflicts = new ConflictList(input.corrects);
  const changes = undo(head.rows, await changesToUndo(input.correctedFile, facts), conflicts);
  const overlay = correctedOverlay(await headOverlay(input.overlayPath, facts.columns), changes);
  signal.throwIfAborted();
  report({ phase: 'finish', done: 0, total: 1, lines: 0 });
  const made = { changes, overlay, rows: withChanges(head.rows, changes), kept: 0, keptCells: 0 };
  const { tally, written, listing } = writeEdition(input, facts, head, made, conflicts);
  return { ...resultOf(facts, tally, written, nothingRead), conflicts: conflicts.count, conflictFile: listing };
}

async function changesToUndo(path: string, facts: EditionFacts): Promise<SmallChange[]> {
  const file = await openChangeFile(path);
  try {
    requireCorrectable(file.header, facts);
    return await changesIn(file);
  } finally {
    await file.close();
  }
}

async function headOverlay(path: string | null, columns: readonly string[]): Promise<OverlayRow[]> {
  const entries = await readOverlay(path);
  return entries.map(({ ruc: key, reason, line, row }) => {
    return { key, reason, line, row: row && columns.map((name) => row[name] ?? '') };
  });
}

/**
 * Returns the changes that undo an edition's changes. If the head's row is still as the edition left it, the row from
 * before the edition replaces the head's row. Any other row stays and becomes a conflict. Otherwise the correction
 * would also undo a later change.
 */
function undo(
  head: ReadonlyMap<string, Cells>,
  edition: readonly SmallChange[],
  conflicts: ConflictList,
): SmallChange[] {
  const changes: SmallChange[] = [];
  for (const { key, before: restored, after: given } of edition) {
    const current = head.get(key) ?? null;
    if (given === null ? current !== null : current === null || !sameCells(current, given)) {
      conflicts.add(key, given === null ? 'came_back' : current === null ? 'gone' : 'changed_again');
      continue;
    }
    const op = current === null ? 'c' : restored === null ? 'd' : 'u';
    changes.push({ op, key, before: current, after: restored, line: null });
  }
  return changes;
}

/** The head's overlay with the correction's rows, which replace the head's entries for the same keys. */
function correctedOverlay(head: readonly OverlayRow[], changes: readonly SmallChange[]): OverlayRow[] {
  const rows = new Map(head.map((row) => [row.key, row]));
  for (const { key, after } of changes) rows.set(key, { key, reason: 'correction', line: null, row: after });
  return [...rows.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
}
