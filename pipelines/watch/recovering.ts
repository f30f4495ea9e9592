import { startRepeating } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/log.ts';
import type { Pool } from '../runtime/postgres.ts';
import { advanceRecovery, defaultRecoveryLimits } from './recoveries.ts';

const lookEveryMs = 1_000;

/**
 * Works off recoveries, a chunk at a time, until none is ready; then looks again. Any number of processes may: a chunk is
 * one transaction that holds its recovery. Returns the stop, which waits for the chunk under way.
 * @param wake best effort: what it misses, the worker's sweeper finds
 */
export function startRecovering(
  pool: Pool,
  wake: (webhookId: string) => Promise<void>,
  log: Logger,
): () => Promise<void> {
  return startRepeating('recoveries', lookEveryMs, log, async (stop) => {
    while (!stop.aborted) {
      const advanced = await advanceRecovery(pool, defaultRecoveryLimits);
      if (advanced === null) return;
      if (advanced.wake !== null) await wake(advanced.wake);
    }
  });
}
