import { expect, test } from 'vitest';
import type { ChangeBatch } from '../../../../pipelines/consumers/batch.ts';
import { waitForGroup } from '../../../../pipelines/consumers/wait-for-group.ts';
import type { StreamOffsets } from '../../../../pipelines/stream/kafka.ts';

const batch = (isStale = () => false): ChangeBatch => ({
  register: 'padron_reducido',
  topic: 'topic',
  partition: 0,
  firstOffset: '0',
  lastOffset: '0',
  messages: [],
  heartbeat: async () => {},
  isStale,
});

/** The other group's committed offsets, one after the other per call. */
function looks(committed: number[], end: number): StreamOffsets & { count: () => number } {
  let count = 0;
  return {
    ends: async () => [end],
    committed: async () => [committed[Math.min(count++, committed.length - 1)]!],
    close: async () => {},
    count: () => count,
  };
}

const limits = { maxLagRows: 100, pollMs: 1, patienceMs: 60_000 };

test('waits while the other group has a large lag, and no longer', async () => {
  const offsets = looks([0, 500, 800, 900, 1_000], 1_000);
  let handled = 0;
  await waitForGroup(
    async () => {
      handled += 1;
    },
    offsets,
    ['other'],
    limits,
  )(batch());
  expect(offsets.count()).toBe(4);
  expect(handled).toBe(1);
});

test('does not wait for the lag of an ordinary day', async () => {
  const offsets = looks([900], 1_000);
  await waitForGroup(async () => {}, offsets, ['other'], limits)(batch());
  expect(offsets.count()).toBe(1);
});

test('goes on without a group that makes no progress, or when the partition was taken away', async () => {
  let handled = 0;
  const handle = async () => {
    handled += 1;
  };
  await waitForGroup(handle, looks([0], 1_000), ['other'], { ...limits, patienceMs: 20 })(batch());
  let asked = 0;
  await waitForGroup(
    handle,
    looks([0], 1_000),
    ['other'],
    limits,
  )(
    batch(() => {
      asked += 1;
      return asked > 3;
    }),
  );
  expect(handled).toBe(2);
});
