import { sha256OfFile } from '../../pipelines/archive/local-copies.ts';
import { CompareError } from '../../pipelines/changes/errors.ts';
import type { CompareInput, CompareResult, CorrectInput, CorrectResult } from '../../pipelines/diff/types.ts';
import { findEdition, publicationUnder } from '../../pipelines/editions/editions.ts';
import { type Head, readHead } from '../../pipelines/editions/heads.ts';
import { findPublication, recordComparison } from '../../pipelines/editions/publications.ts';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import { type Comparison, comparisonSchema, stillStands } from './comparison.ts';
import { countEvents, type EventCounts } from './event-forecast.ts';
import { type PublishDependencies, quarantineFault } from './judge.ts';
import type { StepOutcome, StepRun } from './messages.ts';

/**
 * Moves a publication from `verificada` to `comparada`: parses it, compares it with the head and writes the change
 * file. The files are archived before PostgreSQL refers to them. The step can be repeated, because equal input gives
 * equal bytes.
 */
export async function comparePublication(
  dependencies: CompareDependencies,
  register: RegisterName,
  id: number,
): Promise<StepOutcome> {
  const publication = await findPublication(dependencies.pool, id);
  if (publication === null || !['verificada', 'comparada'].includes(publication.state)) {
    return { outcome: publication?.edition == null ? 'ended' : 'next' };
  }
  const head = await readHead(dependencies.pool, register);
  if (publication.state === 'comparada' && stillStands(publication, head)) return { outcome: 'next' };
  const { report, signal } = dependencies;
  let previous: Previous | null = null;
  try {
    if (await wasReadDifferently(dependencies, head)) previous = await previousOf(dependencies, head);
    const input: CompareInput = {
      register,
      publicationPath: await dependencies.archive.localFile({
        register,
        kind: 'publications',
        sha256: publication.sha256!,
      }),
      workDir: dependencies.workDir,
      base: baseOf(head),
      edition: head.edition + 1,
      // `state_at` is when the publication was verified, or when it was last compared, if that comparison no longer
      // holds (`stillStands`). A repeat of this step reads the same time, so it gives equal bytes. Only lists and
      // webhooks that existed at this time get events. An approved publication is verified again, so the time is never
      // before the operator's approval.
      detectedAt: publication.state_at.getTime(),
      outputDir: dependencies.workDir,
    };
    const compare = () => {
      const whole = { ...input, previous: previous?.input ?? null };
      return orRebuild(dependencies, input, () => dependencies.compare(whole, report, signal));
    };
    const result = await compare().catch(async (error: unknown) => {
      if (previous !== null || !(error instanceof CompareError) || error.code !== 'row_store_full') throw error;
      // The row store (pipelines/diff/large/row-store.ts) becomes full once every few years. With `previous`, the
      // comparison is a re-baseline: it starts a new row store, and unchanged rows are written as `r`, which make no
      // events.
      previous = await previousOf(dependencies, head);
      return await compare();
    });
    const notices = await countEvents(dependencies.pool, register, result.changeFile.path, signal);
    const comparison = await archiveComparison(dependencies, input, result, notices);
    const { rows, rejected, duplicates } = result;
    await recordComparison(dependencies.pool, id, { rows, rejected, duplicates, result: comparison });
    return { outcome: 'next' };
  } catch (error) {
    return await quarantineFault(dependencies.pool, id, previous === null ? error : namingPrevious(error, previous));
  }
}

interface Previous {
  publicationId: number;
  /** The number of the head's edition. */
  edition: number;
  input: NonNullable<CompareInput['previous']>;
}

/** Whether the head was read by another parser version, or has other columns, than this release uses. */
async function wasReadDifferently(
  dependencies: CompareDependencies,
  { register, edition: number }: Head,
): Promise<boolean> {
  const edition = await findEdition(dependencies.pool, register, number);
  const { parserVersion, columns } = registers[register];
  const names = columns.map(({ name }) => name);
  return edition !== null && !(edition.parser_version === parserVersion && names.join() === edition.columns.join());
}

/**
 * Finds the head's publication, so that this release's parser can read it again, and the head's overlay. The overlay
 * has every row in which the head differs from that publication, including the rows of later corrections.
 */
async function previousOf(dependencies: CompareDependencies, head: Head): Promise<Previous> {
  const { register } = head;
  const edition = await findEdition(dependencies.pool, register, head.edition);
  const publication = await publicationUnder(dependencies.pool, register, head.edition);
  if (edition === null || publication === null) {
    throw new Error(`edition ${head.edition} of ${register} stands on no publication`);
  }
  const { id: publicationId, sha256 } = publication;
  const overlay = edition.overlay_sha256;
  const input = {
    publicationPath: await dependencies.archive.localFile({ register, kind: 'publications', sha256 }),
    overlayPath: overlay && (await dependencies.archive.localFile({ register, kind: 'overlays', sha256: overlay })),
    knownColumns: edition.columns,
  };
  return { publicationId, edition: head.edition, input };
}

/** Adds the publication's number and the remedy to a `previous_unreadable` error, which names only files. */
function namingPrevious(error: unknown, { publicationId, edition }: Previous): unknown {
  if (!(error instanceof CompareError) || error.code !== 'previous_unreadable') return error;
  const old = `publication ${publicationId}, on which edition ${edition} stands`;
  const help = 'Run a release that reads both; the next publication then needs nobody, this one an approval.';
  return new CompareError(error.code, `this release cannot read ${old}: ${error.message} ${help}`);
}

type Report = StepRun['report'];

/** Each comparison runs in a child process, which is killed and awaited when `signal` aborts. */
export interface CompareDependencies extends PublishDependencies, StepRun {
  workDir: string;
  compare(input: CompareInput, report: Report, signal: AbortSignal): Promise<CompareResult>;
  correct(input: CorrectInput, report: Report, signal: AbortSignal): Promise<CorrectResult>;
  /** Rebuilds an edition's files in WORK_DIR from the archive. */
  rebuildIndex(register: RegisterName, edition: number, report: Report, signal: AbortSignal): Promise<void>;
}

export function baseOf(head: Head): CompareInput['base'] {
  if (head.change_file_sha256 === null) return null;
  return { edition: head.edition, changeFileSha256: head.change_file_sha256 };
}

/**
 * Calls `run`, which compares or corrects. If the base's files in WORK_DIR are missing or damaged, rebuilds these files
 * and calls `run` again.
 */
export async function orRebuild<Result>(
  dependencies: CompareDependencies,
  input: { register: RegisterName; base: CompareInput['base'] },
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    const rebuilds = error instanceof CompareError && ['index_missing', 'index_damaged'].includes(error.code);
    if (!rebuilds || input.base === null) throw error;
    const { report, signal } = dependencies;
    await dependencies.rebuildIndex(input.register, input.base.edition, report, signal);
    return await run();
  }
}

/**
 * Archives the files of a comparison and returns what PostgreSQL stores about it. If the process dies before PostgreSQL
 * stores the result, nothing refers to the archived files. The repeat makes equal files under equal names.
 */
export async function archiveComparison(
  dependencies: CompareDependencies,
  input: { register: RegisterName; base: CompareInput['base']; edition: number; detectedAt: number },
  result: CompareResult & Partial<CorrectResult>,
  notices: EventCounts | null,
): Promise<Comparison> {
  const { register } = input;
  const { changeFile, overlayFile } = result;
  await dependencies.archive.put({ register, kind: 'changes', sha256: changeFile.sha256 }, changeFile.path);
  if (overlayFile !== null) {
    await dependencies.archive.put({ register, kind: 'overlays', sha256: overlayFile.sha256 }, overlayFile.path);
  }
  // A comparison of a publication lists the rejected lines. A correction lists its conflicts (`Conflict`): the rows of
  // the undone edition that it left as they are, because they changed again later.
  const listed = result.conflictFile ?? result.rejectFile;
  const rejectsSha256 = listed === null ? null : await sha256OfFile(listed.path);
  if (listed !== null && rejectsSha256 !== null) {
    await dependencies.archive.put({ register, kind: 'rejects', sha256: rejectsSha256 }, listed.path);
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
    counts: { ...result, ...notices },
  });
}
