import { foldChangeFiles } from '../edition.ts';
import type { DifferenceEngine, RebuildInput, RebuildProgress, Rebuilt } from '../types.ts';
import { compareSmall } from './compare.ts';
import { correctSmall } from './correct.ts';
import { changesIn, withChanges } from './outputs.ts';
import { finishState, type SmallState } from './state.ts';

/**
 * Applies change files in order and writes the states of the last two editions again. The states get the same bytes
 * that the comparisons wrote.
 * @throws CompareError `change_file_damaged`; the signal's reason when aborted
 */
async function rebuildSmall(
  input: RebuildInput,
  report: (progress: RebuildProgress) => void,
  signal: AbortSignal,
): Promise<Rebuilt> {
  const { register, workDir, changeFiles } = input;
  const last = await foldChangeFiles<SmallState>(input, report, signal, async (base, file, sha256, report) => {
    const { edition, parserVersion, columns } = file.header;
    const changes = await changesIn(file);
    // A re-baseline is applied like any other edition: it has a change for every row, also for each row that ends.
    const rows = withChanges(base?.rows ?? new Map(), changes);
    const state = { edition, changeFileSha256: sha256, parserVersion, columns, rows };
    if (edition >= changeFiles.at(-1)!.edition - 1) finishState(workDir, register, state, base?.changeFileSha256 ?? '');
    report(changes.length);
    return state;
  });
  const { edition, changeFileSha256, rows } = last;
  return { edition, indexName: `${register}.${changeFileSha256}`, rows: rows.size };
}

/** The engine for registers of at most 200,000 lines. It holds the old and the new state in memory. */
export const smallEngine: DifferenceEngine = { compare: compareSmall, correct: correctSmall, rebuild: rebuildSmall };
