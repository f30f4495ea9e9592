import type { RegisterName } from '../../../schemas/registers.ts';
import { sweepWorkFiles, workFileName } from '../work-files.ts';
import type { SmallState } from './state.ts';
import { writeState } from './state-file.ts';

/**
 * Makes the new state durable in WORK_DIR and removes older ones. The last two stay: a comparison that an operator refuses is
 * followed by another from the same base. Dying before this loses nothing that a repeat does not make again.
 */
export function finishState(
  workDir: string,
  register: RegisterName,
  state: SmallState,
  baseSha256: string,
  maxAttemptAgeMs: number,
): { indexName: string } {
  writeState(workDir, register, state);
  const names = [state.changeFileSha256, baseSha256].map((sha256) => workFileName(register, sha256, 'rows'));
  sweepWorkFiles(workDir, register, new Set(names), maxAttemptAgeMs);
  return { indexName: `${register}.${state.changeFileSha256}` };
}
