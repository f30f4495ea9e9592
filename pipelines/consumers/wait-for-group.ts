import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamOffsets } from '../stream/kafka.ts';
import type { BatchHandler } from './batch.ts';

export interface WaitLimits {
  /** Records that the other group may lack before this one waits: far more than a daily edition has. */
  maxLagRows: number;
  pollMs: number;
  /** If the other group does not move for so long, this one goes on without it. */
  patienceMs: number;
}

const defaultWaitLimits: WaitLimits = { maxLagRows: 500_000, pollMs: 500, patienceMs: 60_000 };

/**
 * Lets another group have the machine while it has very much to do: a first edition is millions of baselines, of which
 * look-ups need the state and nobody is told anything.
 */
export function waitForGroup(
  handle: BatchHandler,
  offsets: StreamOffsets,
  otherGroup: string,
  limits: WaitLimits = defaultWaitLimits,
): BatchHandler {
  return async (batch) => {
    let committedBefore = -1;
    let movedAt = Date.now();
    while (!batch.isStale()) {
      const [ends, committed] = await Promise.all([
        offsets.ends(batch.topic),
        offsets.committed(otherGroup, batch.topic),
      ]);
      const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
      const done = sum(committed);
      if (sum(ends) - done <= limits.maxLagRows) break;
      if (done !== committedBefore) movedAt = Date.now();
      committedBefore = done;
      if (Date.now() - movedAt > limits.patienceMs) break;
      // Also tells the loop that this partition is not stuck.
      await batch.heartbeat();
      await sleep(limits.pollMs);
    }
    await handle(batch);
  };
}
