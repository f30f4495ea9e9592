import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createAccount } from '../../../api/accounts/accounts.ts';
import type { Caller } from '../../../api/accounts/callers.ts';
import { createToken } from '../../../api/accounts/tokens.ts';
import { defaultStreamLimits, EventStreams } from '../../../api/event-stream/streams.ts';
import { migratePostgres } from '../../../pipelines/runtime/migrate.ts';
import { makePool, type Pool } from '../../../pipelines/runtime/postgres.ts';
import { type FreshDatabase, freshDatabase } from '../../support/engines/isolation.ts';
import { silentLog } from '../../support/watch/harness.ts';

// Streams end when their time is over or their process stops. The hour is shortened here.
const limits = { ...defaultStreamLimits, checkMs: 50, maxOpenMs: 700, endMs: 100 };
const noNotifications = { listen: () => () => {} };
let database: FreshDatabase;
let pool: Pool;
let caller: Caller;

beforeAll(async () => {
  database = await freshDatabase(inject('endpoints'));
  await migratePostgres(database.DATABASE_URL);
  pool = makePool(database.DATABASE_URL, 'test', 4);
  const accountId = await createAccount(pool, { name: 'Prueba', plan: 'crecimiento', email: null, contract: null });
  const { id } = (await createToken(pool, accountId))!;
  caller = { accountId, tokenId: id } as Caller;
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** A response that records whether it was cut. */
class Response extends EventEmitter {
  destroyed = false;
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}
const makeResponse = () => new Response() as Response & ServerResponse;
const seats = async () => (await pool.query('SELECT count(*) AS n FROM event_stream')).rows[0].n;
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())));

test('a stream ends when its time is over, is cut off if nobody reads the end, and frees its place', async () => {
  const streams = new EventStreams(pool, noNotifications, silentLog, limits);
  streams.start();
  const began = performance.now();
  const response = makeResponse();
  const stream = await streams.open(caller, response);
  expect(await seats()).toBe(1);
  await aborted(stream.signal);
  expect(performance.now() - began).toBeGreaterThanOrEqual(limits.maxOpenMs);
  await expect.poll(() => response.destroyed, { timeout: 10_000 }).toBe(true);
  await expect.poll(seats, { timeout: 10_000 }).toBe(0);
  await streams.stop();
});

test('a process that stops ends all its streams, even one that is opened meanwhile', async () => {
  const streams = new EventStreams(pool, noNotifications, silentLog, { ...limits, maxOpenMs: 3_600_000 });
  streams.start();
  const open = await streams.open(caller, makeResponse());
  const opening = streams.open(caller, makeResponse());
  await streams.stop();
  expect(open.signal.aborted).toBe(true);
  expect((await opening).signal.aborted).toBe(true);
  await expect.poll(seats, { timeout: 10_000 }).toBe(0);
});

test('a token that was revoked after the caller was identified reads nothing', async () => {
  const streams = new EventStreams(pool, noNotifications, silentLog, {
    ...limits,
    checkMs: 60_000,
    maxOpenMs: 3_600_000,
  });
  streams.start();
  await pool.query('UPDATE token SET revoked_at = now() WHERE id = $1', [caller.tokenId]);
  const response = makeResponse();
  expect((await streams.open(caller, response)).signal.aborted).toBe(true);
  await expect.poll(seats, { timeout: 10_000 }).toBe(0);
  await streams.stop();
});
