import { mkdirSync } from 'node:fs';
import type { RegisterName } from '../../../schemas/registers.ts';
import { CompareError } from '../../changes/errors.ts';
import type { DifferenceEngine, RebuildInput, RebuildProgress, Rebuilt } from '../types.ts';
import { compareSmall } from './compare.ts';
import { correctSmall } from './correct.ts';
import { type ReadChangeFile, readChangeFile } from './outputs.ts';
import { type Cells, finishState, type SmallState } from './state.ts';

/**
 * Makes the states of the last two given editions again by applying change files in order. The states get the same
 * bytes that the comparisons wrote.
 * @throws CompareError `change_file_damaged`; the signal's reason when aborted
 */
async function rebuildSmall(
  input: RebuildInput,
  report: (progress: RebuildProgress) => void,
  signal: AbortSignal,
): Promise<Rebuilt> {
  const { register, workDir, changeFiles, maxAttemptAgeMs } = input;
  mkdirSync(workDir, { recursive: true });
  let state: SmallState | null = null;
  let indexName = '';
  for (const { edition, path, sha256 } of changeFiles) {
    const file = await readChangeFile(path, sha256);
    requireNext(register, edition, file, state);
    const baseSha256: string = state?.changeFileSha256 ?? '';
    state = folded(state, file, sha256);
    if (edition >= changeFiles.at(-1)!.edition - 1) {
      indexName = finishState(workDir, register, state, baseSha256, maxAttemptAgeMs).indexName;
    }
    report({ edition, lastEdition: changeFiles.at(-1)!.edition, records: file.changes.length });
    signal.throwIfAborted();
  }
  if (state === null) throw new CompareError('change_file_damaged', 'There is no change file to rebuild from.');
  return { edition: state.edition, indexName, rows: state.rows.size };
}

/** Checks that a file follows the one before it. The first file must contain every row, because it has no base. */
function requireNext(register: RegisterName, edition: number, file: ReadChangeFile, state: SmallState | null): void {
  const follows =
    state === null ? file.isFull : edition === state.edition + 1 && file.baseSha256 === state.changeFileSha256;
  if (file.register === register && file.edition === edition && follows) return;
  const text = `The change file of edition ${edition} does not follow the one before it.`;
  throw new CompareError('change_file_damaged', text);
}

function folded(state: SmallState | null, file: ReadChangeFile, changeFileSha256: string): SmallState {
  const { edition, parserVersion, columns, changes } = file;
  // A re-baseline is applied like any other edition: it has a change for every row, also for each row that ends.
  const rows = new Map<string, Cells>(state?.rows ?? []);
  for (const { key, after } of changes) after === null ? rows.delete(key) : rows.set(key, after);
  return { edition, changeFileSha256, parserVersion, columns, rows };
}

/** The engine for registers of at most 200,000 lines. It holds the old and the new state in memory. */
export const smallEngine: DifferenceEngine = { compare: compareSmall, correct: correctSmall, rebuild: rebuildSmall };
