import DataLoader from 'dataloader';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { makeBatchGate } from '../../../../api/queries/look-up.ts';

// Timers run on a clock that only the tests move, so that a stall of the machine changes nothing.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate'] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Loads numbers through the gate, with queries of `queryMs`, and records each batch and how many ran at once. */
function makeHarness(limits: { waitMs: number; maxKeys: number; inFlight: number }, queryMs: number) {
  const gate = makeBatchGate(limits);
  const batches: number[] = [];
  let running = 0;
  let most = 0;
  const loader = new DataLoader<number, number>(
    (keys) =>
      gate.during(async () => {
        batches.push(keys.length);
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, queryMs));
        running -= 1;
        if (keys.includes(-1)) throw new Error('the query failed');
        return [...keys];
      }),
    { cache: false, maxBatchSize: limits.maxKeys, batchScheduleFn: gate.schedule },
  );
  return { loader, batches, most: () => most };
}

test('a lone look-up waits for nobody', async () => {
  const { loader } = makeHarness({ waitMs: 1_000, maxKeys: 300, inFlight: 2 }, 1);
  const load = loader.load(7);
  await vi.advanceTimersByTimeAsync(1);
  expect(await load).toBe(7);
});

test('what comes while a query runs is gathered; never more queries at once than allowed', async () => {
  const { loader, batches, most } = makeHarness({ waitMs: 5, maxKeys: 300, inFlight: 2 }, 200);
  const loads: Promise<number>[] = [loader.load(0)];
  for (let key = 1; key <= 40; key += 1) {
    await vi.advanceTimersByTimeAsync(1);
    loads.push(loader.load(key));
  }
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await Promise.all(loads)).toEqual(Array.from({ length: 41 }, (_, key) => key));
  expect(most()).toBe(2);
  // Key 0 is alone. Keys 1 to 5 come within 5 ms, and the others wait for a place.
  expect(batches).toEqual([1, 5, 35]);
});

test('a gathered batch is sent after its wait, whatever a clock shows then', async () => {
  const { loader, batches } = makeHarness({ waitMs: 5, maxKeys: 300, inFlight: 2 }, 200);
  // Node may fire a timer while performance.now() shows that less time has passed.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  const loads = [loader.load(0)];
  await vi.advanceTimersByTimeAsync(1);
  loads.push(loader.load(1));
  await vi.advanceTimersByTimeAsync(5);
  expect(batches).toEqual([1, 1]);
  await vi.advanceTimersByTimeAsync(400);
  expect(await Promise.all(loads)).toEqual([0, 1]);
});

test('many at once: batches no larger than allowed, each key answered', async () => {
  const { loader, batches, most } = makeHarness({ waitMs: 5, maxKeys: 10, inFlight: 2 }, 2);
  const keys = Array.from({ length: 95 }, (_, key) => key);
  const loads = loader.loadMany(keys);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await loads).toEqual(keys);
  expect(Math.max(...batches)).toBe(10);
  expect(batches).toHaveLength(10);
  expect(most()).toBe(2);
});

test('a failed query gives its place free and fails only its own batch', async () => {
  const { loader } = makeHarness({ waitMs: 1, maxKeys: 1, inFlight: 1 }, 1);
  const loads = loader.loadMany([1, -1, 2]);
  await vi.advanceTimersByTimeAsync(100);
  const results = await loads;
  expect(results[0]).toBe(1);
  expect(results[1]).toBeInstanceOf(Error);
  expect(results[2]).toBe(2);
});

test('no batch is sent before DataLoader has put its key into it', async () => {
  // Full batches of one key are requested in one turn, while a query runs and more may run.
  const { loader, batches } = makeHarness({ waitMs: 0, maxKeys: 1, inFlight: 8 }, 20);
  const first = loader.load(0);
  await vi.advanceTimersByTimeAsync(5);
  const more = [1, 2, 3].map((key) => loader.load(key));
  await vi.advanceTimersByTimeAsync(100);
  expect(await Promise.all([first, ...more])).toEqual([0, 1, 2, 3]);
  expect(batches).toEqual([1, 1, 1, 1]);
});
