import { oldestUnfinishedEdition } from '../../pipelines/editions/editions.ts';
import { recordReconciliation } from '../../pipelines/editions/freshness.ts';
import { readHead } from '../../pipelines/editions/heads.ts';
import type { VerifyProgress, VerifyReport } from '../../pipelines/replay/types.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import type { ReconcileOutcome } from './messages.ts';

export interface ReconcileParts {
  pool: Pool;
  log: Logger;
  /**
   * Compares the head's state in ClickHouse with the archive in a child process, killed and awaited when `signal` aborts.
   * Null: the register has no edition, or one is on its way.
   */
  verify(
    register: RegisterName,
    report: (progress: VerifyProgress) => void,
    signal: AbortSignal,
  ): Promise<VerifyReport | null>;
}

/**
 * The daily check of one register. A difference is an alert (log, metric, `padron registers`) and never repaired by itself:
 * `padron rebuild` is an operator's decision. A death before the row is written repeats the check.
 */
export async function reconcileRegister(
  parts: ReconcileParts,
  register: RegisterName,
  report: (progress: VerifyProgress) => void,
  signal: AbortSignal,
): Promise<ReconcileOutcome> {
  if (await isMoving(parts.pool, register)) return { outcome: 'skipped' };
  const found = await parts.verify(register, report, signal);
  if (found === null) return { outcome: 'skipped' };
  const { edition, equal, rows, differences, ...detail } = found;
  // An edition that began meanwhile writes rows that the verified one does not have.
  if (!equal && (await isMoving(parts.pool, register, edition))) return { outcome: 'skipped' };
  await recordReconciliation(parts.pool, { register, edition, equal, rows, differences, detail });
  if (equal) return { outcome: 'equal' };
  const { state, names, history, publication, listed } = found;
  parts.log.error(
    { register, edition, differences, state, names, history, publication, listed },
    'the state differs from the archive: see padron verify',
  );
  return { outcome: 'different' };
}

async function isMoving(pool: Pool, register: RegisterName, edition?: number): Promise<boolean> {
  if ((await oldestUnfinishedEdition(pool, register)) !== null) return true;
  return edition !== undefined && (await readHead(pool, register)).edition !== edition;
}
