import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { readUse } from '../../../../api/metering/ledger.ts';
import { monthOf, systemClock } from '../../../../api/metering/periods.ts';
import type { ApiProblem } from '../../../../api/problems.ts';
import { migratePostgres } from '../../../../deploy/runtime/migrate.ts';
import { makePool, type Pool } from '../../../../deploy/runtime/postgres.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/isolation.ts';
import { type MeterProcess, makePayer, startMeter } from '../../../support/meters.ts';

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
  expect(await readUse(pool, payer.accountId, thisMonth())).toMatchObject({ used: 2_000 });
});
