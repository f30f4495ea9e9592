import { sha256OfFile } from '../../pipelines/archive/local-copies.ts';
import { CompareError } from '../../pipelines/changes/errors.ts';
import type {
  CompareInput,
  CompareResult,
  CorrectInput,
  CorrectResult,
  Progress,
  RebuildProgress,
} from '../../pipelines/diff/types.ts';
import type { Head } from '../../pipelines/editions/heads.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { type Comparison, comparisonSchema, countsOf } from './comparison.ts';
import type { NoticeCounts } from './notices.ts';
import type { PublishParts } from './publish-steps.ts';

export type Report = (progress: Progress | RebuildProgress) => void;

/** What makes differences: each call in a child process, killed and awaited when `signal` aborts. */
export interface CompareParts extends PublishParts {
  workDir: string;
  compare(input: CompareInput, report: Report, signal: AbortSignal): Promise<CompareResult>;
  correct(input: CorrectInput, report: Report, signal: AbortSignal): Promise<CorrectResult>;
  /** Makes what stands in WORK_DIR of an edition anew from the archive. */
  rebuildIndex(register: RegisterName, edition: number, report: Report, signal: AbortSignal): Promise<void>;
}

export function baseOf(head: Head): CompareInput['base'] {
  if (head.change_file_sha256 === null) return null;
  return { edition: head.edition, changeFileSha256: head.change_file_sha256 };
}

/** Runs a comparison; when WORK_DIR was lost, or is another machine's, the head is made anew and it runs again. */
export async function orRebuild<Result>(
  parts: CompareParts,
  input: { register: RegisterName; base: CompareInput['base'] },
  run: () => Promise<Result>,
  report: Report,
  signal: AbortSignal,
): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    const rebuilds = error instanceof CompareError && ['index_missing', 'index_damaged'].includes(error.code);
    if (!rebuilds || input.base === null) throw error;
    // WORK_DIR holds nothing that the archive does not.
    await parts.rebuildIndex(input.register, input.base.edition, report, signal);
    return await run();
  }
}

/**
 * Archives what a comparison left and says what the catalogue keeps of it. Dying before the catalogue does: the files are
 * archived under their hashes and nothing names them; the repeat makes the same ones again.
 */
export async function archiveComparison(
  parts: CompareParts,
  input: { register: RegisterName; base: CompareInput['base']; edition: number; detectedAt: number },
  result: CompareResult & Partial<CorrectResult>,
  notices: NoticeCounts | null,
): Promise<Comparison> {
  const { register } = input;
  const { changeFile, overlayFile } = result;
  await parts.archive.put({ register, kind: 'changes', sha256: changeFile.sha256 }, changeFile.path);
  if (overlayFile !== null) {
    await parts.archive.put({ register, kind: 'overlays', sha256: overlayFile.sha256 }, overlayFile.path);
  }
  // Of a publication the lines that are no row, of a correction the rows that it left as they are.
  const listed = result.conflictFile ?? result.rejectFile;
  const rejectsSha256 = listed === null ? null : await sha256OfFile(listed.path);
  if (listed !== null && rejectsSha256 !== null) {
    await parts.archive.put({ register, kind: 'rejects', sha256: rejectsSha256 }, listed.path);
  }
  return comparisonSchema.parse({
    baseEdition: input.base?.edition ?? 0,
    edition: input.edition,
    detectedAt: input.detectedAt,
    changeFileSha256: changeFile.sha256,
    overlaySha256: overlayFile?.sha256 ?? null,
    rejectsSha256,
    parserVersion: result.parserVersion,
    columns: result.columns,
    counts: countsOf(result, notices),
  });
}
