import { isLost } from '../../pipelines/archive/archive.ts';
import { CompareError } from '../../pipelines/changes/errors.ts';
import { readHead } from '../../pipelines/editions/heads.ts';
import type { Publication } from '../../pipelines/editions/publications.ts';
import { makesEvents } from '../../pipelines/watch/match.ts';
import { type NoticeCount, previewNotices } from '../../pipelines/watch/preview.ts';
import { registers } from '../../schemas/registers.ts';
import { comparisonSchema } from '../../workflows/publication/comparison.ts';
import { accountNames } from '../accounts/accounts.ts';
import type { OperatorDependencies } from './dependencies.ts';

export type NamedCount = NoticeCount & { account: string };

/** What approving a publication would send, or why that is not known. */
export type Preview =
  | {
      outcome: 'counted';
      counts: readonly NamedCount[];
      /** The edition that the publication was compared with. After another edition, approving compares it again. */
      comparedWith: number;
      isCurrent: boolean;
    }
  | { outcome: 'no_events' | 'not_compared' | 'no_archive' | 'too_many' | 'file_lost' };

type Dependencies = Pick<OperatorDependencies, 'pool' | 'archive' | 'now' | 'lastKnownRows'>;

/** A page must not wait longer. A change file of a usual day takes less than a second. */
export const previewTimeoutMs = 10_000;

/**
 * Counts the notices that approving the publication now would send, by customer and kind. Nothing is written.
 * @param publication one that waits in quarantine
 */
export async function previewPublication(
  { pool, archive, now, lastKnownRows }: Dependencies,
  publication: Publication,
  timeoutMs = previewTimeoutMs,
): Promise<Preview> {
  const { register, fecha_dato } = publication;
  if (!makesEvents(registers[register])) return { outcome: 'no_events' };
  const comparison = comparisonSchema.safeParse(publication.compare_result).data;
  if (comparison === undefined) return { outcome: 'not_compared' };
  if (archive === null) return { outcome: 'no_archive' };
  const { edition, baseEdition, changeFileSha256: sha256 } = comparison;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const file = await archive.localFile({ register, kind: 'changes', sha256 });
    // An approved publication is verified and compared again, so its edition is detected after now.
    const wanted = { register, number: edition, fechaDato: fecha_dato ?? '', detectedAt: now() };
    const counts = await previewNotices({ pool, lastKnownRows }, wanted, file, signal);
    const names = await accountNames(pool, [...new Set(counts.map(({ accountId }) => accountId))]);
    const head = await readHead(pool, register);
    return {
      outcome: 'counted',
      counts: counts.map((count) => ({ ...count, account: names.get(count.accountId) ?? '' })),
      comparedWith: baseEdition,
      isCurrent: head.edition === baseEdition,
    };
  } catch (error) {
    if (signal.aborted && error === signal.reason) return { outcome: 'too_many' };
    if (isLost(error) || error instanceof CompareError) return { outcome: 'file_lost' };
    throw error;
  }
}
