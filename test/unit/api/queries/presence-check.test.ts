import { expect, test } from 'vitest';
import { makePresenceCheck } from '../../../../api/queries/current-rows.ts';
import type { StoredRow } from '../../../../api/queries/look-up.ts';

/** A store with rows of register 3 (agentes_retencion) by RUC, which counts the queries that it gets. */
function makeHarness(rucs: string[]) {
  const store = { rucs: new Set(rucs), at: 0, scans: 0, lookUps: 0 };
  const row: StoredRow = { register: 3, version: 1, isDeleted: false, cells: [] };
  const presence = makePresenceCheck(
    {
      find: async (ruc) => {
        store.lookUps += 1;
        return store.rucs.has(ruc) ? [row] : [];
      },
      findMany: async () => [],
      anyKeyOf: async () => {
        store.scans += 1;
        return [...store.rucs][0] ?? null;
      },
    },
    () => store.at,
  );
  return { store, presence, row, require: () => presence.require(['agentes_retencion']) };
}

test('a register without a row fails each check; with a row the check counts for 5 s', async () => {
  const { store, require } = makeHarness([]);
  await expect(require()).rejects.toThrow('no row of agentes_retencion');
  store.rucs.add('a');
  await require();
  expect(store.scans).toBe(2);
  store.at = 2_000;
  await require();
  expect(store.scans).toBe(2);
  store.rucs.clear();
  store.at = 5_001;
  await expect(require()).rejects.toThrow('no row of agentes_retencion');
});

test('the RUC that was last found is asked for; the whole register only when that one is gone', async () => {
  const { store, presence, row, require } = makeHarness(['a', 'b']);
  presence.note('a', [row]);
  await require();
  expect([store.lookUps, store.scans]).toEqual([1, 0]);
  store.rucs.delete('a');
  store.at = 5_001;
  await require();
  expect([store.lookUps, store.scans]).toEqual([2, 1]);
  store.rucs.clear();
  store.at = 10_002;
  await expect(require()).rejects.toThrow('no row');
});

test('the key that a scan found is looked up next, so a register that few look-ups meet is scanned once', async () => {
  const { store, require } = makeHarness(['a']);
  await require();
  store.at = 5_001;
  await require();
  expect([store.lookUps, store.scans]).toEqual([1, 1]);
});

test('no register, no question', async () => {
  const { store, presence } = makeHarness([]);
  await presence.require([]);
  expect([store.lookUps, store.scans]).toEqual([0, 0]);
});
