import { expect, test } from 'vitest';
import { type LastKnownLimits, makeLastKnown } from '../../../api/last-known.ts';

const limits = { freshMs: 5_000, servesMs: 60_000, loadTimeoutMs: 50, retryAfterMs: 1_000, maxEntries: 2 };

function makeHarness(own: Partial<LastKnownLimits> = {}) {
  const store = { at: 0, value: 'first', isDown: false, isSilent: false, reads: 0 };
  const known = makeLastKnown(
    async (key: string) => {
      store.reads += 1;
      if (store.isDown) throw new Error('down');
      if (store.isSilent) await new Promise(() => {});
      return `${key}:${store.value}`;
    },
    { ...limits, ...own },
    // The library takes an entry that was set at 0 as one without a time.
    () => 1 + store.at,
  );
  return { store, get: (key = 'a') => known.get(key) };
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 5));

test('callers at the same time share one read', async () => {
  const { store, get } = makeHarness();
  await Promise.all([get(), get(), get()]);
  expect(store.reads).toBe(1);
});

test('a background read renews it from half of its time on; it is never served past it', async () => {
  const { store, get } = makeHarness();
  await get();
  store.value = 'second';
  store.at = 2_400;
  expect(await get()).toBe('a:first');
  expect(store.reads).toBe(1);
  store.at = 2_600;
  expect(await get()).toBe('a:first');
  await settle();
  expect(await get()).toBe('a:second');
  store.value = 'third';
  store.at = 2_600 + 5_001;
  expect(await get()).toBe('a:third');
});

test('while the store is down it serves the last value for 60 s, then the error, and asks once a second, not once per caller', async () => {
  const { store, get } = makeHarness();
  await get();
  store.isDown = true;
  store.at = 10_000;
  expect(await get()).toBe('a:first');
  const reads = store.reads;
  for (let caller = 0; caller < 100; caller += 1) expect(await get()).toBe('a:first');
  expect(store.reads).toBe(reads);
  store.at = 59_999;
  expect(await get()).toBe('a:first');
  store.at = 60_001;
  await expect(get()).rejects.toThrow('down');
  store.isDown = false;
  store.value = 'back';
  expect(await get()).toBe('a:back');
});

test('a store that does not answer counts as down after its deadline', async () => {
  const { store, get } = makeHarness();
  store.isSilent = true;
  await expect(get()).rejects.toThrow('no answer within 50 ms');
});

test('a read without a last value may have a longer deadline', async () => {
  const { store, get } = makeHarness({ firstTimeoutMs: 60 });
  store.isSilent = true;
  await expect(get()).rejects.toThrow('no answer within 60 ms');
  store.isSilent = false;
  expect(await get()).toBe('a:first');
  store.isSilent = true;
  store.at = 10_000;
  expect(await get()).toBe('a:first');
  store.at = 60_001;
  await expect(get()).rejects.toThrow('no answer within 50 ms');
});

test('without a last value the error is thrown at once', async () => {
  const { store, get } = makeHarness();
  store.isDown = true;
  await expect(get()).rejects.toThrow('down');
});

test('bounded: the entry that was used longest ago is evicted first', async () => {
  const { store, get } = makeHarness();
  for (const key of ['a', 'b', 'c']) await get(key);
  store.isDown = true;
  store.at = 10_000;
  await expect(get('a')).rejects.toThrow('down');
  expect(await get('c')).toBe('c:first');
});

test('more reads at the same time than entries: every caller gets its answer', async () => {
  const { get } = makeHarness();
  const keys = ['a', 'b', 'c', 'd', 'e'];
  expect(await Promise.all(keys.map(get))).toEqual(keys.map((key) => `${key}:first`));
});
