import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamOffsets } from '../stream/kafka.ts';
import type { BatchHandler, ChangeBatch } from './batch.ts';

export interface WaitLimits {
  /** This group waits while the other group lags by more than this number of records. A daily edition has far fewer. */
  maxLagRows: number;
  pollMs: number;
  /** This group goes on if the other group makes no progress for this time. */
  patienceMs: number;
}

const defaultWaitLimits: WaitLimits = { maxLagRows: 500_000, pollMs: 500, patienceMs: 60_000 };

/**
 * Makes a handler that handles a batch only when the lag of another group is small enough. A first edition is millions
 * of baselines. Look-ups need them materialised, while watch makes no events of them, so materialize gets the machine
 * first.
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
      // The heartbeat also shows the loop that this partition is not stuck.
      await batch.heartbeat();
      await sleep(limits.pollMs);
    }
    await handle(batch);
  };
}

/**
 * Waits until another group has committed past an offset of the batch's partition, or the batch is stale.
 * @returns false if `waitMs` passed first
 */
export async function waitForOffset(
  batch: ChangeBatch,
  offset: number,
  committedOffset: (topic: string, partition: number) => Promise<number>,
  { waitMs, pollMs }: { waitMs: number; pollMs: number },
): Promise<boolean> {
  const until = performance.now() + waitMs;
  while (!batch.isStale()) {
    if ((await committedOffset(batch.topic, batch.partition)) > offset) return true;
    if (performance.now() >= until) return false;
    await batch.heartbeat();
    await sleep(pollMs);
  }
  return true;
}
