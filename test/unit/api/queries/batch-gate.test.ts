import DataLoader from 'dataloader';
import { expect, test } from 'vitest';
import { makeBatchGate } from '../../../../api/queries/look-up.ts';

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
  const startedAt = performance.now();
  await loader.load(7);
  expect(performance.now() - startedAt).toBeLessThan(500);
});

test('what comes while a query runs is gathered; never more queries at once than allowed', async () => {
  const { loader, batches, most } = makeHarness({ waitMs: 5, maxKeys: 300, inFlight: 2 }, 200);
  const loads: Promise<number>[] = [loader.load(0)];
  for (let key = 1; key <= 40; key += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    loads.push(loader.load(key));
  }
  expect(await Promise.all(loads)).toEqual(Array.from({ length: 41 }, (_, key) => key));
  expect(most()).toBe(2);
  expect(batches.length).toBeLessThan(12);
  expect(batches.reduce((sum, size) => sum + size)).toBe(41);
});

test('many at once: batches no larger than allowed, each key answered', async () => {
  const { loader, batches, most } = makeHarness({ waitMs: 5, maxKeys: 10, inFlight: 2 }, 2);
  const keys = Array.from({ length: 95 }, (_, key) => key);
  expect(await loader.loadMany(keys)).toEqual(keys);
  expect(Math.max(...batches)).toBe(10);
  expect(batches).toHaveLength(10);
  expect(most()).toBe(2);
});

test('a failed query gives its place free and fails only its own batch', async () => {
  const { loader } = makeHarness({ waitMs: 1, maxKeys: 1, inFlight: 1 }, 1);
  const results = await loader.loadMany([1, -1, 2]);
  expect(results[0]).toBe(1);
  expect(results[1]).toBeInstanceOf(Error);
  expect(results[2]).toBe(2);
});

test('no batch is sent before DataLoader has put its key into it', async () => {
  // Full batches of one key are requested in one turn, while a query runs and more may run.
  const { loader, batches } = makeHarness({ waitMs: 0, maxKeys: 1, inFlight: 8 }, 20);
  const first = loader.load(0);
  await new Promise((resolve) => setTimeout(resolve, 5));
  const more = [1, 2, 3].map((key) => loader.load(key));
  expect(await Promise.all([first, ...more])).toEqual([0, 1, 2, 3]);
  expect(batches).toEqual([1, 1, 1, 1]);
});
