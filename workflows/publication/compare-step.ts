import { CompareError } from '../../pipelines/changes/errors.ts';
import type { CompareInput } from '../../pipelines/diff/types.ts';
import { findEdition, publicationUnder } from '../../pipelines/editions/editions.ts';
import { type Head, readHead } from '../../pipelines/editions/heads.ts';
import { findPublication, recordComparison } from '../../pipelines/editions/publications.ts';
import { type RegisterName, registers } from '../../schemas/registers.ts';
import { archiveComparison, baseOf, type CompareParts, orRebuild, type Report } from './comparing.ts';
import { stillStands } from './comparison.ts';
import type { StepOutcome } from './messages.ts';
import { countNotices } from './notices.ts';
import { quarantineFault } from './publish-steps.ts';

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
