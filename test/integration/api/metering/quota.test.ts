import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, inject, test, vi } from 'vitest';
import { creditUnits } from '../../../../api/accounts/accounts.ts';
import { leaseUsableMs, readUse } from '../../../../api/metering/ledger.ts';
import { chargeInTransaction } from '../../../../api/metering/meter.ts';
import { monthOf, secondsUntil, systemClock } from '../../../../api/metering/minute-limits.ts';
import type { Payer, Reservation } from '../../../../api/metering/types.ts';
import { refusalMs } from '../../../../api/metering/wallet.ts';
import { ApiProblem } from '../../../../api/problems.ts';
import { migratePostgres } from '../../../../pipelines/runtime/migrate.ts';
import { inTransaction, makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { type MeterProcess, makePayer, startMeter } from '../../../support/api/meters.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/engines/isolation.ts';
import { makeTcpProxy } from '../../../support/engines/tcp-proxy.ts';

let database: FreshDatabase;
let pool: Pool;
const running: MeterProcess[] = [];

beforeAll(async () => {
  database = await freshDatabase(inject('endpoints'));
  await migratePostgres(database.DATABASE_URL);
  pool = makePool(database.DATABASE_URL, 'test', 4);
});
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop();
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

async function processes(count: number, clock = systemClock): Promise<MeterProcess[]> {
  const started = await Promise.all(Array.from({ length: count }, () => startMeter(database.DATABASE_URL, clock)));
  running.push(...started);
  return started;
}

const thisMonth = () => monthOf(Date.now()).firstDay;

/** Charges one unit after another until the refusal, which is returned with the count. */
async function chargeAll({ meter }: MeterProcess, payer: Payer): Promise<{ charged: number; refusal: ApiProblem }> {
  for (let charged = 0; ; charged += 1) {
    const reservation = await meter.reserve(payer, 1).catch((error: unknown) => error as ApiProblem);
    if (reservation instanceof Error) return { charged, refusal: reservation };
    reservation.charge(1);
    reservation.release();
  }
}

async function refusalOf(reserving: Promise<Reservation>): Promise<ApiProblem> {
  const error = await reserving.then(
    () => null,
    (problem: unknown) => problem,
  );
  expect(error).toBeInstanceOf(ApiProblem);
  return error as ApiProblem;
}

test('four processes, 200 callers at once: exactly the quota is charged, what is not found is free', async () => {
  const payer = await makePayer(pool, 2_000);
  const meters = await processes(4);
  let [charged, refused] = [0, 0];
  const caller = async (number: number) => {
    for (;;) {
      const meter = meters[(number + charged) % 4]!.meter;
      try {
        const reservation = await meter.reserve(payer, 1);
        await sleep(1);
        const isFound = Math.random() < 0.8;
        if (isFound) {
          reservation.charge(1);
          charged += 1;
        }
        reservation.release();
      } catch (error) {
        expect((error as ApiProblem).code).toBe('cuota_agotada');
        refused += 1;
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: 200 }, (_, number) => caller(number)));
  expect([charged, refused]).toEqual([2_000, 200]);
  for (const each of meters) await each.meter.stop();
  const { rowCount: unreturned } = await pool.query(
    'SELECT FROM quota_lease WHERE account_id = $1 AND granted > spent + settled',
    [payer.accountId],
  );
  expect(unreturned).toBe(0);
  expect(await readUse(pool, payer.accountId, thisMonth())).toMatchObject({ used: 2_000 });
});

test('what another process holds is asked for before a 429, and a batch gets all its units or none', async () => {
  const payer = await makePayer(pool, 100);
  const [one, other] = (await processes(2)) as [MeterProcess, MeterProcess];
  (await one.meter.reserve(payer, 30)).charge(0);
  const batch = await other.meter.reserve(payer, 70);
  const refusal = await refusalOf(other.meter.reserve(payer, 1));
  expect([refusal.code, refusal.extensions.disponible]).toEqual(['cuota_agotada', 0]);
  // The other process's 30 units are in flight and may come back, so the wait is not until the month's end.
  expect(Number(refusal.headers['Retry-After'])).toBeLessThanOrEqual(65);
  batch.charge(10);
  batch.release();
  expect((await refusalOf(one.meter.reserve(payer, 61))).extensions.disponible).toBe(60);
  (await one.meter.reserve(payer, 60)).release();
});

test('while units of requests in flight may come back, Retry-After is short; once they are charged it is the rest of the month', async () => {
  const payer = await makePayer(pool, 5);
  const [one] = (await processes(1)) as [MeterProcess];
  const inFlight = await one.meter.reserve(payer, 5);
  const secondsToTry = async (units: number) =>
    Number((await refusalOf(one.meter.reserve(payer, units))).headers['Retry-After']);
  const secondsOfMonth = () => secondsUntil(monthOf(Date.now()).endsAtMs, Date.now());
  expect(await secondsToTry(1)).toBe(1);
  expect(await secondsToTry(5)).toBe(1);
  const tooMany = await secondsToTry(6);
  expect(tooMany - secondsOfMonth()).toBeLessThan(60);
  expect(tooMany).toBeGreaterThanOrEqual(secondsOfMonth());
  inFlight.charge(5);
  inFlight.release();
  const charged = await secondsToTry(1);
  expect(charged).toBeGreaterThanOrEqual(secondsOfMonth());
});

test('units that requests in flight may not charge are waited for: with one left, none of many that find nothing is refused', async () => {
  const payer = await makePayer(pool, 1);
  const [one] = (await processes(1)) as [MeterProcess];
  const findNothing = async () => {
    const reservation = await one.meter.reserve(payer, 1);
    await sleep(10);
    reservation.release();
  };
  await Promise.all(Array.from({ length: 6 }, findNothing));
  expect((await chargeAll(one, payer)).charged).toBe(1);
});

test('what is left of the month is known before anything is reserved, and leases nothing', async () => {
  const payer = await makePayer(pool, 100);
  const [one] = (await processes(1)) as [MeterProcess];
  expect(await one.meter.standing(payer)).toMatchObject({ limit: 100, remaining: 100 });
  const { rowCount } = await pool.query('SELECT FROM quota_lease WHERE account_id = $1', [payer.accountId]);
  expect(rowCount).toBe(0);
});

test('the prepaid balance is drawn after the quota, by a batch over both; new units count at once', async () => {
  const payer = await makePayer(pool, 50);
  expect(await creditUnits(pool, payer.accountId, 30, 'F001-1')).toBe('credited');
  expect(await creditUnits(pool, payer.accountId, 30, 'F001-1')).toBe('already_credited');
  expect(await creditUnits(pool, payer.accountId, 31, 'F001-1')).toBe('other_units');
  const [one, other] = (await processes(2)) as [MeterProcess, MeterProcess];
  const batch = await one.meter.reserve(payer, 60);
  batch.charge(55);
  batch.release();
  await vi.waitFor(async () => {
    expect(await readUse(pool, payer.accountId, thisMonth())).toEqual({ limit: 50, used: 50, prepaid: 25 });
  }, 3_000);
  const { charged, refusal } = await chargeAll(other, payer);
  expect(charged).toBe(25);
  expect(Number(refusal.headers['Retry-After'])).toBe(secondsUntil(monthOf(Date.now()).endsAtMs, Date.now()));
  await creditUnits(pool, payer.accountId, 7, 'F001-2');
  await sleep(refusalMs);
  expect((await chargeAll(other, payer)).charged).toBe(7);
});

test('the quota begins anew at midnight in Lima; requests in flight count in the old month, prepaid units stay', async () => {
  const payer = await makePayer(pool, 10);
  await creditUnits(pool, payer.accountId, 5, 'F001-9');
  let wallMs = Date.parse('2027-01-01T04:59:59.000Z');
  const [one] = (await processes(1, { ...systemClock, wallMs: () => wallMs })) as [MeterProcess];
  expect((await chargeAll(one, payer)).charged).toBe(15);
  const december = await refusalOf(one.meter.reserve(payer, 1));
  expect(december.headers['Retry-After']).toBe('1');
  await creditUnits(pool, payer.accountId, 5, 'F001-10');
  await sleep(refusalMs);
  const inFlight = await one.meter.reserve(payer, 2);
  wallMs += 1_000;
  const january = await one.meter.reserve(payer, 10);
  inFlight.charge(1);
  inFlight.release();
  january.charge(4);
  january.release();
  await one.meter.stop();
  expect(await readUse(pool, payer.accountId, '2026-12-01')).toEqual({ limit: 10, used: 10, prepaid: 4 });
  expect(await readUse(pool, payer.accountId, '2027-01-01')).toEqual({ limit: 10, used: 4, prepaid: 4 });
});

test('a killed process: what it reported counts, the last second of it does not, its block comes back when it lapses', async () => {
  const payer = await makePayer(pool, 100);
  const [dying, other] = (await processes(2)) as [MeterProcess, MeterProcess];
  (await dying.meter.reserve(payer, 20)).charge(20);
  await vi.waitFor(async () => {
    expect((await readUse(pool, payer.accountId, thisMonth()))?.used).toBe(20);
  }, 3_000);
  (await dying.meter.reserve(payer, 3)).charge(3);
  await dying.drop();
  const { charged, refusal } = await chargeAll(other, payer);
  expect(charged).toBeLessThan(80);
  expect(Number(refusal.headers['Retry-After'])).toBeLessThanOrEqual(65);
  // Only the dead process's lease is made to lapse.
  await pool.query(`UPDATE quota_lease SET expires_at = now() WHERE account_id = $1 AND granted > spent`, [
    payer.accountId,
  ]);
  await sleep(refusalMs);
  expect(charged + (await chargeAll(other, payer)).charged).toBe(80);
});

test('PostgreSQL down: the lease serves on, its use is reported afterwards; without a lease 503 with Retry-After', async () => {
  const line = await makeTcpProxy(database.DATABASE_URL);
  const payer = await makePayer(pool, 1_000);
  const stranger = await makePayer(pool, 1_000);
  let monotonicMs = 0;
  const cut = await startMeter(line.url, { wallMs: Date.now, monotonicMs: () => performance.now() + monotonicMs });
  running.push(cut);
  (await cut.meter.reserve(payer, 1)).charge(1);
  await line.cut();
  for (let used = 0; used < 50; used += 1) (await cut.meter.reserve(payer, 1)).charge(1);
  const unknown = await refusalOf(cut.meter.reserve(stranger, 1));
  expect([unknown.code, Number(unknown.headers['Retry-After'])]).toEqual(['servicio_no_disponible', 5]);
  monotonicMs += leaseUsableMs;
  expect((await refusalOf(cut.meter.reserve(payer, 1))).code).toBe('servicio_no_disponible');
  await line.mend();
  await vi.waitFor(async () => {
    expect((await readUse(pool, payer.accountId, thisMonth()))?.used).toBe(51);
  }, 5_000);
  (await cut.meter.reserve(payer, 1)).charge(1);
  await cut.stop();
  await line.stop();
  expect(await readUse(pool, payer.accountId, thisMonth())).toMatchObject({ used: 52 });
});

test("a charge in the caller's transaction is there with it or not at all, whatever is reported meanwhile", async () => {
  const payer = await makePayer(pool, 100);
  const [one] = (await processes(1)) as [MeterProcess];
  const reservation = await one.meter.reserve(payer, 10);
  const rolledBack = inTransaction(pool, async (client) => {
    await chargeInTransaction(client, reservation, 10);
    throw new Error('the answer could not be kept');
  });
  await expect(rolledBack).rejects.toThrow('kept');
  const settle = await inTransaction(pool, async (client) => {
    const afterCommit = await chargeInTransaction(client, reservation, 6);
    (await one.meter.reserve(payer, 3)).charge(3);
    await sleep(1_200);
    return afterCommit;
  });
  settle();
  reservation.release();
  await vi.waitFor(async () => {
    expect((await readUse(pool, payer.accountId, thisMonth()))?.used).toBe(9);
  }, 3_000);
  expect((await chargeAll(one, payer)).charged).toBe(91);
});
