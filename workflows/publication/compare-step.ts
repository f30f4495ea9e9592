import { sha256OfFile } from '../../pipelines/archive/durable.ts';
import { CompareError } from '../../pipelines/diff/errors.ts';
import type { RebuildProgress } from '../../pipelines/diff/rebuild.ts';
import type { CompareInput, CompareResult, Progress } from '../../pipelines/diff/types.ts';
import { readHead } from '../../pipelines/editions/heads.ts';
import { findPublication, type Publication, recordComparison } from '../../pipelines/editions/publications.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { comparisonSchema, countsOf } from './comparison.ts';
import type { StepOutcome } from './messages.ts';
import { type PublishParts, quarantineFault } from './publish-steps.ts';

type Report = (progress: Progress | RebuildProgress) => void;

export interface CompareParts extends PublishParts {
  workDir: string;
  /** Reads and compares in a child process; killed and awaited when `signal` aborts. */
  compare(input: CompareInput, report: Report, signal: AbortSignal): Promise<CompareResult>;
  /** Makes the index and row store of an edition anew from the archive. */
  rebuildIndex(register: RegisterName, edition: number, report: Report, signal: AbortSignal): Promise<void>;
}

/**
 * `verificada → comparada`: one pass that parses, compares with the head and writes the change file, which is archived
 * before the catalogue names it. The same publication and head give the same bytes, so a repeat changes nothing.
 */
export async function comparePublication(
  parts: CompareParts,
  register: RegisterName,
  id: number,
  report: Report,
  signal: AbortSignal,
): Promise<StepOutcome> {
  const publication = await findPublication(parts.pool, id);
  if (publication === null || !['verificada', 'comparada'].includes(publication.state)) {
    return { outcome: publication?.edition == null ? 'ended' : 'next' };
  }
  const head = await readHead(parts.pool, register);
  if (publication.state === 'comparada' && isAgainst(publication, head.edition)) return { outcome: 'next' };
  const base =
    head.change_file_sha256 === null ? null : { edition: head.edition, changeFileSha256: head.change_file_sha256 };
  const input: CompareInput = {
    register,
    publicationPath: await parts.archive.localFile({ register, kind: 'publications', sha256: publication.sha256! }),
    workDir: parts.workDir,
    base,
    edition: head.edition + 1,
    // The time of verification: a repeated comparison then gives the same bytes. It is also when lists and webhooks must
    // have existed to be told, and an approval long after the download counts from the approval.
    detectedAt: publication.state_at.getTime(),
    outputDir: parts.workDir,
  };
  try {
    const result = await compareOrRebuild(parts, input, report, signal);
    await keep(parts, publication, input, result);
    return { outcome: 'next' };
  } catch (error) {
    return await quarantineFault(parts.pool, id, error);
  }
}

async function compareOrRebuild(
  parts: CompareParts,
  input: CompareInput,
  report: Report,
  signal: AbortSignal,
): Promise<CompareResult> {
  try {
    return await parts.compare(input, report, signal);
  } catch (error) {
    const rebuilds = error instanceof CompareError && ['index_missing', 'index_damaged'].includes(error.code);
    if (!rebuilds || input.base === null) throw error;
    // WORK_DIR was lost, or is another machine's: it holds nothing that the archive does not.
    await parts.rebuildIndex(input.register, input.base.edition, report, signal);
    return await parts.compare(input, report, signal);
  }
}

async function keep(
  parts: CompareParts,
  publication: Publication,
  input: CompareInput,
  result: CompareResult,
): Promise<void> {
  const { register } = input;
  const { changeFile, overlayFile, rejectFile } = result;
  await parts.archive.put({ register, kind: 'changes', sha256: changeFile.sha256 }, changeFile.path);
  if (overlayFile !== null) {
    await parts.archive.put({ register, kind: 'overlays', sha256: overlayFile.sha256 }, overlayFile.path);
  }
  const rejectsSha256 = rejectFile === null ? null : await sha256OfFile(rejectFile.path);
  if (rejectFile !== null && rejectsSha256 !== null) {
    await parts.archive.put({ register, kind: 'rejects', sha256: rejectsSha256 }, rejectFile.path);
  }
  const comparison = comparisonSchema.parse({
    baseEdition: input.base?.edition ?? 0,
    edition: input.edition,
    detectedAt: input.detectedAt,
    changeFileSha256: changeFile.sha256,
    overlaySha256: overlayFile?.sha256 ?? null,
    rejectsSha256,
    counts: countsOf(result),
  });
  // Dying before this: the files are archived under their hashes and nothing names them; the repeat makes them again.
  await recordComparison(parts.pool, publication.id, {
    rows: result.rows,
    rejected: result.rejected,
    duplicates: result.duplicates,
    result: comparison,
  });
}

function isAgainst(publication: Publication, edition: number): boolean {
  return comparisonSchema.safeParse(publication.compare_result).data?.baseEdition === edition;
}
