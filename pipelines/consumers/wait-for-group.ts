import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamOffsets } from '../stream/kafka.ts';
import type { BatchHandler } from './batch.ts';

const waitLimits = {
  /** This group waits while the other group lags by more than this number of records. A daily edition has far fewer. */
  maxLagRows: 500_000,
  pollMs: 500,
  /** This group goes on if the other group makes no progress for this time. */
  patienceMs: 60_000,
};

/**
 * Makes a handler that begins a batch only when the lag of another group is small enough. So during a first edition,
 * the group materialize gets the machine first: look-ups need its rows, but watch makes no events of a first edition.
 */
export function waitForGroup(
  handle: BatchHandler,
  offsets: StreamOffsets,
  otherGroup: string,
  limits = waitLimits,
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
      // The heartbeat also shows the loop that this partition is not stuck.
      await batch.heartbeat();
      await sleep(limits.pollMs);
    }
    await handle(batch);
  };
}
