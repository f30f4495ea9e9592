import type { CorrectInput } from '../../pipelines/diff/types.ts';
import {
  type Correction,
  findCorrection,
  recordCorrectionComparison,
  refuseCorrection,
} from '../../pipelines/editions/corrections.ts';
import { type Edition, findEdition } from '../../pipelines/editions/editions.ts';
import { type Head, readHead } from '../../pipelines/editions/heads.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { archiveComparison, baseOf, type CompareDependencies, orRebuild } from './compare.ts';
import { stillStands } from './comparison.ts';
import { faultOf } from './judge.ts';
import type { StepOutcome } from './messages.ts';

/**
 * Moves a correction from `pedida` to `comparada`: applies the undone edition's change file in reverse to the head.
 * Rows that changed again after the undone edition stay as they are, and are counted and listed. There are no gates,
 * because an operator ordered the correction. The records hold the time of the order, so a repeat gives equal bytes.
 */
export async function compareCorrection(
  dependencies: CompareDependencies,
  register: RegisterName,
  id: number,
): Promise<StepOutcome> {
  const correction = await findCorrection(dependencies.pool, id);
  if (correction === null || !['pedida', 'comparada'].includes(correction.state)) {
    return { outcome: correction?.edition == null ? 'ended' : 'next' };
  }
  const head = await readHead(dependencies.pool, register);
  if (stillStands(correction, head)) return { outcome: 'next' };
  try {
    const input = await inputOf(dependencies, correction, head);
    const { report, signal } = dependencies;
    const result = await orRebuild(dependencies, input, () => dependencies.correct(input, report, signal));
    // The last argument is null, because events are counted only for the gates, and a correction has no gates.
    const comparison = await archiveComparison(dependencies, input, result, null);
    await recordCorrectionComparison(dependencies.pool, id, comparison);
    return { outcome: 'next' };
  } catch (error) {
    const again = `npx padron editions revert ${register} ${correction.corrects} --reason TEXT`;
    const reason = faultOf(error, again);
    if (reason === null) throw error;
    await refuseCorrection(dependencies.pool, id, reason);
    return { outcome: 'ended' };
  }
}

async function inputOf(dependencies: CompareDependencies, correction: Correction, head: Head): Promise<CorrectInput> {
  const { register, corrects } = correction;
  const undone = await editionOf(dependencies, register, corrects);
  const overlay = (await editionOf(dependencies, register, head.edition)).overlay_sha256;
  const sha256 = undone.change_file_sha256;
  return {
    register,
    workDir: dependencies.workDir,
    base: baseOf(head)!,
    edition: head.edition + 1,
    detectedAt: correction.requested_at.getTime(),
    corrects,
    correctedFile: await dependencies.archive.localFile({ register, kind: 'changes', sha256 }),
    overlayPath: overlay && (await dependencies.archive.localFile({ register, kind: 'overlays', sha256: overlay })),
    outputDir: dependencies.workDir,
  };
}

async function editionOf(dependencies: CompareDependencies, register: RegisterName, number: number): Promise<Edition> {
  const edition = await findEdition(dependencies.pool, register, number);
  if (edition === null) throw new Error(`${register} has no edition ${number}`);
  return edition;
}
