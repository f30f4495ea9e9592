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
 * With several ClickHouse replicas, the group that is furthest counts: a new replica that reads everything delays no
 * notice.
 */
export function waitForGroup(
  handle: BatchHandler,
  offsets: StreamOffsets,
  otherGroups: readonly string[],
  limits = waitLimits,
): BatchHandler {
  return async (batch) => {
    let committedBefore = -1;
    let movedAt = Date.now();
    while (!batch.isStale()) {
      const [ends, ...committed] = await Promise.all([
        offsets.ends(batch.topic),
        ...otherGroups.map((group) => offsets.committed(group, batch.topic)),
      ]);
      const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
      const done = Math.max(...committed.map(sum));
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

/** Which of the ClickHouse servers that may answer look-ups have stored the change at this offset. */
export type Shown = (
  topic: string,
  partition: number,
  offset: number,
) => Promise<'everywhere' | 'somewhere' | 'nowhere'>;

/** @param groups returns the materialize groups of these servers */
export function makeShown(offsets: Pick<StreamOffsets, 'committed'>, groups: () => Promise<readonly string[]>): Shown {
  return async (topic, partition, offset) => {
    const committed = await Promise.all((await groups()).map((group) => offsets.committed(group, topic)));
    const having = committed.filter((parts) => (parts[partition] ?? 0) > offset).length;
    if (having === 0) return 'nowhere';
    return having === committed.length ? 'everywhere' : 'somewhere';
  };
}
