import type { CorrectInput } from '../../pipelines/diff/types.ts';
import {
  type Correction,
  findCorrection,
  recordCorrectionComparison,
  refuseCorrection,
} from '../../pipelines/editions/corrections.ts';
import { type Edition, findEdition } from '../../pipelines/editions/editions.ts';
import { freezeCorrection as freeze } from '../../pipelines/editions/freeze.ts';
import { type Head, readHead } from '../../pipelines/editions/heads.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { archiveComparison, baseOf, type CompareParts, orRebuild, type Report } from './compare.ts';
import { differenceOf, stillStands } from './comparison.ts';
import { faultOf, type PublishParts } from './judge.ts';
import type { FreezeOutcome, StepOutcome } from './messages.ts';

/**
 * `pedida → comparada`: the undone edition's change file, turned around against today's head. No gates: it is an operator's
 * order. What it leaves alone is counted and listed. The order's time is written into the records, so a repeat gives the
 * same bytes.
 */
export async function compareCorrection(
  parts: CompareParts,
  register: RegisterName,
  id: number,
  report: Report,
  signal: AbortSignal,
): Promise<StepOutcome> {
  const correction = await findCorrection(parts.pool, id);
  if (correction === null || !['pedida', 'comparada'].includes(correction.state)) {
    return { outcome: correction?.edition == null ? 'ended' : 'next' };
  }
  const head = await readHead(parts.pool, register);
  if (stillStands(correction, head)) return { outcome: 'next' };
  try {
    const input = await inputOf(parts, correction, head);
    const result = await orRebuild(parts, input, () => parts.correct(input, report, signal), report, signal);
    // Its notices undo earlier ones and are told only to those who had them: nothing for a gate to count.
    const comparison = await archiveComparison(parts, input, result, null);
    await recordCorrectionComparison(parts.pool, id, comparison);
    return { outcome: 'next' };
  } catch (error) {
    const reason = faultOf(error, 'give the order again');
    if (reason === null) throw error;
    await refuseCorrection(parts.pool, id, reason);
    return { outcome: 'ended' };
  }
}

async function inputOf(parts: CompareParts, correction: Correction, head: Head): Promise<CorrectInput> {
  const { register, corrects } = correction;
  const undone = await editionOf(parts, register, corrects);
  const overlay = (await editionOf(parts, register, head.edition)).overlay_sha256;
  const sha256 = undone.change_file_sha256;
  return {
    register,
    workDir: parts.workDir,
    base: baseOf(head)!,
    edition: head.edition + 1,
    detectedAt: correction.requested_at.getTime(),
    corrects,
    correctedFile: await parts.archive.localFile({ register, kind: 'changes', sha256 }),
    overlayPath: overlay && (await parts.archive.localFile({ register, kind: 'overlays', sha256: overlay })),
    outputDir: parts.workDir,
  };
}

async function editionOf(parts: CompareParts, register: RegisterName, number: number): Promise<Edition> {
  const edition = await findEdition(parts.pool, register, number);
  if (edition === null) throw new Error(`${register} has no edition ${number}`);
  return edition;
}

export async function freezeCorrection(parts: PublishParts, id: number): Promise<FreezeOutcome> {
  const correction = await findCorrection(parts.pool, id);
  if (correction === null) return { outcome: 'not_compared', edition: null };
  if (correction.edition !== null) return { outcome: 'frozen', edition: correction.edition };
  if (correction.state !== 'comparada') return { outcome: 'not_compared', edition: null };
  return await freeze(parts.pool, id, differenceOf(correction));
}
