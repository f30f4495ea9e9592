import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { catalogueLimits } from '../../../../api/catalogue.ts';
import { ReplicaSet, replicaLimits } from '../../../../api/stores/replicas.ts';
import { askedAfterStopMs } from '../../../../pipelines/replicas/catalogue.ts';
import type { ClickHouseClient } from '../../../../pipelines/runtime/clickhouse.ts';
import { silentLog } from '../../../support/watch/harness.ts';

type Mood = 'well' | 'away' | 'silent';

/** A replica whose answers the test decides. */
class Server {
  mood: Mood = 'well';
  storeId = 'store';
  rows = '10';
  asked = 0;

  probe = {
    query: async () => ({ json: async () => [[await this.answer(this.storeId), '1', this.rows]] }),
  } as unknown as ClickHouseClient;

  async answer<Answer>(answer: Answer): Promise<Answer> {
    if (this.mood === 'away') throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    while (this.mood === 'silent') await sleep(5);
    return answer;
  }

  async look(): Promise<string> {
    this.asked += 1;
    return await this.answer('row');
  }
}

const limits = { ...replicaLimits, probeEveryMs: 10, silentMs: 60 };
let stop = () => {};
afterEach(() => stop());

async function start(holders = { a: 'store', b: 'store' } as Record<string, string>) {
  const servers = { a: new Server(), b: new Server() };
  const set = new ReplicaSet<Server>(
    Object.entries(servers).map(([name, store]) => ({ name, store, probe: store.probe })),
    silentLog,
    async () => null,
    limits,
  );
  set.note(new Map(Object.entries(holders)), performance.now());
  stop = await set.start();
  const look = (key: string) => set.ask(key, (server) => server.look());
  return { ...servers, set, look };
}

/** Keys of which some prefer each replica. */
const keys = Array.from({ length: 200 }, (_, index) => `2010007${String(index).padStart(4, '0')}`);

test('questions spread over all replicas, and each key goes to one of them', async () => {
  const { a, b, set } = await start();
  await Promise.all(keys.map((key) => set.ask(key, (server) => server.look())));
  expect(a.asked + b.asked).toBe(200);
  expect(Math.min(a.asked, b.asked)).toBeGreaterThan(50);
  const once = await Promise.all(keys.map((key) => set.ask(key, async (_, name) => name)));
  expect(await Promise.all(keys.map((key) => set.ask(key, async (_, name) => name)))).toEqual(once);
});

test('a question that fails is asked of another replica, and the first is asked again when it answers a probe', async () => {
  const { a, b, set, look } = await start();
  a.mood = 'away';
  expect(await Promise.all(keys.map(look))).toEqual(keys.map(() => 'row'));
  const before = a.asked;
  await Promise.all(keys.map(look));
  expect(a.asked).toBe(before);
  a.mood = 'well';
  await expect.poll(() => set.states()).toContainEqual({ name: 'a', isAsked: true });
  b.mood = 'away';
  expect(await Promise.all(keys.map(look))).toEqual(keys.map(() => 'row'));
});

test('a question of a replica that answers nothing is asked of another, but the last one is waited for', async () => {
  const { a, b, set, look } = await start();
  a.mood = 'silent';
  expect(await Promise.all(keys.map(look))).toEqual(keys.map(() => 'row'));
  expect(set.states()).toEqual([
    { name: 'a', isAsked: false },
    { name: 'b', isAsked: true },
  ]);
  b.mood = 'silent';
  const waiting = look(keys[0]!);
  await sleep(3 * limits.silentMs);
  expect(set.problem()).toBeNull();
  b.mood = 'well';
  expect(await waiting).toBe('row');
  a.mood = 'well';
});

test('a replica that does not hold the served editions is never asked', async () => {
  const { a, b, set, look } = await start({ b: 'store' });
  await Promise.all(keys.map(look));
  expect([a.asked, b.asked]).toEqual([0, 200]);
  b.mood = 'away';
  await expect(look(keys[0]!)).rejects.toThrow('ECONNREFUSED');
  await expect(look(keys[0]!)).rejects.toThrow('a: it does not hold the served editions; b: it does not answer');
  set.note(new Map([['a', 'store']]), performance.now());
  expect(await look(keys[0]!)).toBe('row');
});

test('a replica with another store, or with a loss, or with empty tables is not asked', async () => {
  const { a, b, set, look } = await start();
  b.mood = 'away';
  a.storeId = 'a new disk';
  await expect.poll(() => set.problem()).toContain('a: its store is a new one; b: it does not answer');
  await expect(look(keys[0]!)).rejects.toThrow();
  a.storeId = 'store';
  a.rows = '0';
  await expect.poll(() => set.problem()).toContain('a: its tables are empty');
  a.rows = '10';
  await expect.poll(() => set.problem()).toBeNull();
  set.noteLoss('a', 'rows are missing');
  expect(set.problem()).toContain('a: rows are missing');
});

test('an old read of the catalogue does not replace a newer one', async () => {
  const { set } = await start();
  set.note(new Map([['a', 'store']]), performance.now() - 1_000);
  expect(set.isHolder('b')).toBe(true);
});

test('notices wait longer for a stopped replica than any process of the API may ask it', () => {
  expect(replicaLimits.holdersMs).toBe(catalogueLimits.servesMs);
  expect(askedAfterStopMs).toBeGreaterThanOrEqual(
    catalogueLimits.servesMs + catalogueLimits.freshMs + catalogueLimits.loadTimeoutMs,
  );
});
