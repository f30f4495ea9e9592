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
import { findEdition, publicationUnder } from '../../pipelines/editions/editions.ts';
import { type Head, readHead } from '../../pipelines/editions/heads.ts';
import { findPublication, recordComparison } from '../../pipelines/editions/publications.ts';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import { type Comparison, comparisonSchema, countsOf, stillStands } from './comparison.ts';
import { countNotices, type NoticeCounts } from './event-forecast.ts';
import { type PublishParts, quarantineFault } from './judge.ts';
import type { StepOutcome } from './messages.ts';

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
  if (publication.state === 'comparada' && stillStands(publication, head)) return { outcome: 'next' };
  let previous: Previous | null = null;
  try {
    if (await isReadOtherwise(parts, head)) previous = await previousOf(parts, head);
    const input: CompareInput = {
      register,
      publicationPath: await parts.archive.localFile({ register, kind: 'publications', sha256: publication.sha256! }),
      workDir: parts.workDir,
      base: baseOf(head),
      edition: head.edition + 1,
      // The time of verification: a repeated comparison then gives the same bytes. It is also when lists and webhooks must
      // have existed to be told, and an approval long after the download counts from the approval.
      detectedAt: publication.state_at.getTime(),
      outputDir: parts.workDir,
    };
    const compare = () => {
      const whole = { ...input, previous: previous?.input ?? null };
      return orRebuild(parts, input, () => parts.compare(whole, report, signal), report, signal);
    };
    const result = await compare().catch(async (error: unknown) => {
      if (previous !== null || !(error instanceof CompareError) || error.code !== 'row_store_full') throw error;
      // Once in some years: a re-baseline begins the store anew, and is silent of every row that did not change.
      previous = await previousOf(parts, head);
      return await compare();
    });
    const notices = await countNotices(parts.pool, register, result.changeFile.path, signal);
    const comparison = await archiveComparison(parts, input, result, notices);
    const { rows, rejected, duplicates } = result;
    await recordComparison(parts.pool, id, { rows, rejected, duplicates, result: comparison });
    return { outcome: 'next' };
  } catch (error) {
    return await quarantineFault(parts.pool, id, previous === null ? error : namingPrevious(error, previous));
  }
}

interface Previous {
  publicationId: number;
  /** The head. */
  edition: number;
  input: NonNullable<CompareInput['previous']>;
}

/** Whether another parser read the head, or it has other columns. */
async function isReadOtherwise(parts: CompareParts, { register, edition: number }: Head): Promise<boolean> {
  const edition = await findEdition(parts.pool, register, number);
  const { parserVersion, columns } = registers[register];
  const names = columns.map(({ name }) => name);
  return edition !== null && !(edition.parser_version === parserVersion && names.join() === edition.columns.join());
}

/**
 * What the head was made from, to be read again by today's parser. The head's overlay holds all in which its state differs
 * from that publication, also where corrections came after it.
 */
async function previousOf(parts: CompareParts, head: Head): Promise<Previous> {
  const { register } = head;
  const edition = await findEdition(parts.pool, register, head.edition);
  const publication = await publicationUnder(parts.pool, register, head.edition);
  if (edition === null || publication === null) {
    throw new Error(`edition ${head.edition} of ${register} stands on no publication`);
  }
  const { id: publicationId, sha256 } = publication;
  const overlay = edition.overlay_sha256;
  const input = {
    publicationPath: await parts.archive.localFile({ register, kind: 'publications', sha256 }),
    overlayPath: overlay && (await parts.archive.localFile({ register, kind: 'overlays', sha256: overlay })),
    knownColumns: edition.columns,
  };
  return { publicationId, edition: head.edition, input };
}

/** An engine knows files alone: an operator is told which publication it is about, and what helps. */
function namingPrevious(error: unknown, { publicationId, edition }: Previous): unknown {
  if (!(error instanceof CompareError) || error.code !== 'previous_unreadable') return error;
  const old = `publication ${publicationId}, on which edition ${edition} stands`;
  const help = 'Run a release that reads both; the next publication then needs nobody, this one an approval.';
  return new CompareError(error.code, `this release cannot read ${old}: ${error.message} ${help}`);
}

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
