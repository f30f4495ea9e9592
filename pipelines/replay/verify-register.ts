import type { RegisterName } from '../../schemas/registers.ts';
import { verifyInChild } from './child.ts';
import { type PlanParts, planVerification } from './plan.ts';
import type { VerifyProgress, VerifyReport } from './types.ts';

/** `on_its_way`: an edition is being written, so what ClickHouse holds is between two states; try again later. */
export type VerifyOutcome =
  | { kind: 'verified'; report: VerifyReport }
  | { kind: 'on_its_way'; edition: number }
  | { kind: 'no_edition' };

/**
 * Verifies a register's serving tables at its head. A difference is only believed when the head has not moved meanwhile:
 * an edition that began during the reading has put newer rows in the place of those that were to be read.
 * @throws ReplayError, ArchiveError; the signal's reason
 */
export async function verifyRegister(
  parts: PlanParts,
  register: RegisterName,
  report: (progress: VerifyProgress) => void,
  signal: AbortSignal,
): Promise<VerifyOutcome> {
  const plan = await planVerification(parts, register);
  if (plan.kind !== 'ready') return plan;
  const found = await verifyInChild(plan.input, report, signal);
  if (found.equal && found.laterRows === 0) return { kind: 'verified', report: found };
  const now = await planVerification(parts, register);
  if (now.kind === 'on_its_way') return now;
  if (now.kind === 'ready' && now.input.edition !== plan.input.edition) {
    return { kind: 'on_its_way', edition: now.input.edition };
  }
  return { kind: 'verified', report: found };
}
