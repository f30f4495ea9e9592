import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { makeLoopMetrics } from '../../../../pipelines/consumers/batch.ts';
import { LagWatch, type LagWatchOptions } from '../../../../pipelines/consumers/membership.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Returns the partitions that a watch of 300 ms reports as stuck. */
async function stuckPartitions(options: Partial<LagWatchOptions> & { committed: () => number[] }): Promise<string[]> {
  const stuck: string[] = [];
  const watch = new LagWatch({
    offsets: { ends: async () => [100, 100], committed: async () => options.committed(), close: async () => {} },
    group: 'group',
    topics: ['topic'],
    metrics: makeLoopMetrics(new Registry()),
    intervalMs: 5,
    noProgressMs: 60,
    assigned: () => [0, 1],
    lastActivity: () => undefined,
    isStopped: () => false,
    onStuck: (topic, partition, lag) => stuck.push(`${topic}/${partition} ${lag}`),
    ...options,
  });
  await vi.advanceTimersByTimeAsync(300);
  watch.stop();
  return [...new Set(stuck)];
}

test('a partition with lag that does not move is reported; one without lag is not', async () => {
  expect(await stuckPartitions({ committed: () => [40, 100] })).toEqual(['topic/0 60']);
});

test('a partition that moves, works, is stopped on purpose or belongs to another process is not reported', async () => {
  let moving = 0;
  expect(await stuckPartitions({ committed: () => [Math.min(90, moving++), 100] })).toEqual([]);
  expect(await stuckPartitions({ committed: () => [40, 100], lastActivity: () => Date.now() })).toEqual([]);
  expect(await stuckPartitions({ committed: () => [40, 100], isStopped: () => true })).toEqual([]);
  expect(await stuckPartitions({ committed: () => [40, 100], assigned: () => [1] })).toEqual([]);
});

test('no partition is stuck while the broker does not answer', async () => {
  let count = 0;
  const committed = () => {
    count += 1;
    if (count % 4 === 0) throw new Error('no broker');
    return [40, 100];
  };
  expect(await stuckPartitions({ committed })).toEqual([]);
});

test('the report names the limit that was passed: five times longer while another partition moves', async () => {
  const patience = new Set<number>();
  const onStuck = (_topic: string, _partition: number, _lag: number, patienceMs: number) =>
    void patience.add(patienceMs);
  await stuckPartitions({ committed: () => [40, 100], noProgressMs: 40, onStuck });
  expect([...patience]).toEqual([40]);
  patience.clear();
  let moving = 0;
  const committed = () => {
    moving += 0.5;
    return [40, Math.min(99, moving)];
  };
  await stuckPartitions({ committed, noProgressMs: 40, onStuck });
  expect([...patience]).toEqual([200]);
});
