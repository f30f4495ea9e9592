import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { type MinuteLimits, minuteChannels, SharedMinuteLimits } from '../../../../api/metering/minute-limits.ts';
import { migratePostgres } from '../../../../pipelines/runtime/migrate.ts';
import { Notifications } from '../../../../pipelines/runtime/notifications.ts';
import { makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/engines/isolation.ts';
import { makeTcpProxy } from '../../../support/engines/tcp-proxy.ts';

const log = pino({ level: 'silent' });

let database: FreshDatabase;
const running: { pool: Pool; notifications: Notifications }[] = [];
let wallMs = Date.parse('2026-11-28T10:00:00.000Z');

beforeAll(async () => {
  database = await freshDatabase(inject('endpoints'));
  await migratePostgres(database.DATABASE_URL);
});
afterEach(async () => {
  for (const { pool, notifications } of running.splice(0)) {
    await notifications.stop();
    await pool.end();
  }
  wallMs += 600_000;
});
afterAll(() => database.drop());

function limitsOf(processes: number, url = database.DATABASE_URL): MinuteLimits[] {
  // Each test begins at the start of a minute, so that none ends in the middle of it.
  const startedAtMs = performance.now();
  return Array.from({ length: processes }, () => {
    const pool = makePool(url, 'test-minutes', 5);
    const notifications = new Notifications(pool, minuteChannels, log);
    running.push({ pool, notifications });
    notifications.start();
    return new SharedMinuteLimits(pool, notifications, () => wallMs + (performance.now() - startedAtMs));
  });
}

async function admitted(
  limits: readonly MinuteLimits[],
  key: string,
  limit: number,
  requests: number,
): Promise<number> {
  const standings = await Promise.all(
    Array.from({ length: requests }, (_, number) => limits[number % limits.length]!.count({ key, limit })),
  );
  return standings.filter((standing) => standing.isWithin).length;
}

test('a burst over three processes: exactly the limit passes, and the next minute begins anew', async () => {
  const limits = limitsOf(3);
  expect(await admitted(limits, 'account:1', 30, 150)).toBe(30);
  expect(await admitted(limits, 'account:2', 600, 1_000)).toBe(600);
  wallMs += 60_000;
  expect(await admitted(limits, 'account:1', 30, 20)).toBe(20);
});

test('no 429 inside the limit: what another process took and did not use is given back', async () => {
  const [one, other] = limitsOf(2) as [MinuteLimits, MinuteLimits];
  expect((await one.count({ key: 'account:3', limit: 30 })).isWithin).toBe(true);
  let passed = 0;
  while ((await other.count({ key: 'account:3', limit: 30 })).isWithin) passed += 1;
  expect(passed).toBe(29);
  const refused = await one.count({ key: 'account:3', limit: 30 });
  expect(refused).toMatchObject({ isWithin: false, remaining: 0, limit: 30 });
});

test('no write per request', async () => {
  const [one] = limitsOf(1) as [MinuteLimits];
  const { pool } = running[0]!;
  let queries = 0;
  const query = pool.query.bind(pool) as (...words: unknown[]) => Promise<unknown>;
  Object.assign(pool, {
    query: (...words: unknown[]) => {
      queries += 1;
      return query(...words);
    },
  });
  expect(await admitted([one], 'account:4', 3_000, 2_000)).toBe(2_000);
  expect(queries).toBeLessThan(20);
});

test('without PostgreSQL a process counts alone, and shares again afterwards', async () => {
  const line = await makeTcpProxy(database.DATABASE_URL);
  const [one] = limitsOf(1, line.url) as [MinuteLimits];
  await line.cut();
  expect(await admitted([one], 'address:192.0.2.1', 60, 100)).toBe(60);
  await line.mend();
  wallMs += 60_000;
  await sleep(10);
  expect(await admitted([one], 'address:192.0.2.1', 60, 100)).toBe(60);
  await line.stop();
});
