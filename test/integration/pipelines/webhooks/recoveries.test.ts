import { afterAll, beforeAll, beforeEach, expect, inject, it } from 'vitest';
import {
  advanceRecovery,
  createRecovery,
  defaultRecoveryLimits,
  readRecovery,
} from '../../../../pipelines/webhooks/recoveries.ts';
import { Fuse } from '../../../support/publication/fuse.ts';
import { makeWatchHarness, type WatchHarness } from '../../../support/watch/harness.ts';

const from = new Date('2026-01-01');
const limits = { chunkRows: 7, maxDue: 20, waitMs: 0 };
let harness: WatchHarness;
let webhook: string;

beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());

beforeEach(async () => {
  await harness.pool.query("UPDATE recovery SET estado = 'cancelada'");
  ({ id: webhook } = await harness.webhook(await harness.account(), 'https://example.com/'));
});

/** Deliveries of several days whose retries have ended. Five of each transaction share their creation time. */
async function insertFailed(count: number): Promise<void> {
  for (const day of ['2026-11-25', '2026-11-26']) await harness.pool.query('SELECT ensure_event_day($1)', [day]);
  await harness.pool.query(
    `INSERT INTO delivery (day, id, event_id, webhook_id, account_id, ruc, position, estado, intentos, fallos_del_ciclo, created_at, finished_at)
     SELECT '2026-11-25'::date + n % 2, $1 || '_' || n, 'ev', $1, 1, 'r' || n, n, 'agotada', 10, 10,
       '2026-11-26T10:00:00.000001Z'::timestamptz + (n / 5) * interval '1 microsecond', '2026-11-27'
     FROM generate_series(1, $2::integer) n`,
    [webhook, count],
  );
}

const due = async () => {
  const { rows } = await harness.pool.query(
    "SELECT count(*) FROM delivery WHERE webhook_id = $1 AND estado = 'pendiente' AND fallos_del_ciclo = 0",
    [webhook],
  );
  return rows[0].count;
};
const send = () =>
  harness.pool.query(
    "UPDATE delivery SET estado = 'entregada', finished_at = now() WHERE webhook_id = $1 AND estado = 'pendiente'",
    [webhook],
  );

/** Orders a recovery of all failed deliveries of the webhook. */
const recoverAll = async () =>
  (await createRecovery(harness.pool, webhook, { from, before: null, states: ['agotada'], isSimulated: false }))!;

it('another process goes on after a death: uncommitted work is repeated, and no delivery is sent twice', async () => {
  await insertFailed(30);
  const recovery = await recoverAll();
  expect(recovery.total).toBe(30);
  expect(await advanceRecovery(harness.pool, limits)).toEqual({ wake: webhook });
  expect(await due()).toBe(7);
  await harness.pool.query('ALTER TABLE recovery ADD CONSTRAINT dies CHECK (resent < 8) NOT VALID');
  await expect(advanceRecovery(harness.pool, limits)).rejects.toThrow('dies');
  await harness.pool.query('ALTER TABLE recovery DROP CONSTRAINT dies');
  expect(await due()).toBe(7);
  await advanceRecovery(harness.pool, limits);
  await advanceRecovery(harness.pool, limits);
  expect(await due()).toBe(21);
  // Twenty are due already, so the recovery waits and a new delivery does not wait for all thirty.
  expect(await advanceRecovery(harness.pool, limits)).toEqual({ wake: null });
  expect(await due()).toBe(21);
  await send();
  await advanceRecovery(harness.pool, limits);
  await advanceRecovery(harness.pool, limits);
  await advanceRecovery(harness.pool, limits);
  expect(await readRecovery(harness.pool, webhook, recovery.id)).toMatchObject({ estado: 'terminada', resent: 30 });
  expect(await advanceRecovery(harness.pool, limits)).toBeNull();
});

it('dying after any of its calls, also after the commit, loses nothing and makes no delivery due twice', async () => {
  let calls = 0;
  for (let died = true; died; calls += 1) {
    ({ id: webhook } = await harness.webhook(await harness.account(), 'https://example.com/'));
    await insertFailed(10);
    const { id } = await recoverAll();
    const fuse = new Fuse(calls);
    try {
      for (let left = true; left; ) left = (await advanceRecovery(fuse.pool(harness.pool), limits)) !== null;
    } catch (error) {
      if (!fuse.isBlown) throw error;
    }
    died = fuse.isBlown;
    const ended = async () => {
      while ((await advanceRecovery(harness.pool, limits)) !== null);
      return readRecovery(harness.pool, webhook, id);
    };
    // The server releases a dead process's locks when it notices that the connection has ended.
    await expect.poll(ended, { timeout: 20_000 }).toMatchObject({ estado: 'terminada', total: 10, resent: 10 });
    expect(await due()).toBe(10);
  }
  // Two chunks and the end, each of several calls.
  expect(calls).toBeGreaterThan(15);
});

it('several processes share recoveries, and none makes a delivery due twice', async () => {
  await insertFailed(60);
  const recovery = await recoverAll();
  const ample = { ...limits, maxDue: 1_000 };
  for (;;) {
    await Promise.all(Array.from({ length: 4 }, () => advanceRecovery(harness.pool, ample)));
    const { estado, resent } = (await readRecovery(harness.pool, webhook, recovery.id))!;
    expect(resent).toBe(await due());
    if (estado === 'terminada') break;
  }
  expect(await due()).toBe(60);
});

it('a delivery that fails again after the recovery was created is left out', async () => {
  await insertFailed(3);
  const recovery = await recoverAll();
  await harness.pool.query("UPDATE delivery SET finished_at = now() WHERE webhook_id = $1 AND id = $1 || '_2'", [
    webhook,
  ]);
  while ((await advanceRecovery(harness.pool, defaultRecoveryLimits)) !== null);
  expect(await due()).toBe(2);
  expect(await readRecovery(harness.pool, webhook, recovery.id)).toMatchObject({
    total: 3,
    resent: 2,
    estado: 'terminada',
  });
});
