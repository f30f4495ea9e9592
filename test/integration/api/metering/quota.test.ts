import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { readDailyUse } from '../../../../api/metering/daily-use.ts';
import { readUse } from '../../../../api/metering/ledger.ts';
import { freshMs, type Payer, servedUnchargedMs } from '../../../../api/metering/meter.ts';
import { monthOf, secondsUntil, systemClock } from '../../../../api/metering/minute-limits.ts';
import { credit } from '../../../../api/operators/customers.ts';
import type { ApiProblem } from '../../../../api/problems.ts';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import {
  expectUsedOf,
  type MeterProcess,
  makePayer,
  meterScene,
  refusalOf,
  startMeter,
} from '../../../support/api/meters.ts';
import { makeTcpProxy } from '../../../support/engines/tcp-proxy.ts';

/** Who acts in these tests. */
const operator = { name: 'prueba', way: 'command' } as const;

const scene = meterScene();
const { processes, running } = scene;

const thisMonth = () => monthOf(Date.now()).firstDay;

const secondsOfMonth = () => secondsUntil(monthOf(Date.now()).endsAtMs, Date.now());

/** Charges one unit after another until the refusal, which is returned with the count. */
async function chargeAll({ meter }: MeterProcess, payer: Payer): Promise<{ charged: number; refusal: ApiProblem }> {
  for (let charged = 0; ; charged += 1) {
    const refusal = await meter.charge(payer, 1).catch((error: unknown) => error as ApiProblem);
    if (refusal instanceof Error) return { charged, refusal };
  }
}

/** What was charged on each day, as `day units`. */
async function unitsPerDay({ accountId }: Payer): Promise<string[]> {
  const { rows } = await scene.pool.query<{ line: string }>(
    "SELECT day || ' ' || units AS line FROM quota_day WHERE account_id = $1 ORDER BY day",
    [accountId],
  );
  return rows.map(({ line }) => line);
}

const expectUsed = (payer: Payer, used: number, month?: string) => expectUsedOf(scene.pool, payer, used, month);

test('four processes, 200 callers at once: exactly the quota is charged, what is not found is free', async () => {
  const payer = await makePayer(scene.pool, 2_000);
  const meters = processes(4);
  let [charged, refused] = [0, 0];
  const caller = async (number: number) => {
    for (;;) {
      const meter = meters[(number + charged) % 4]!.meter;
      try {
        await meter.requireUnits(payer, 1);
        await sleep(1);
        const isFound = Math.random() < 0.8;
        if (isFound) {
          await meter.charge(payer, 1);
          charged += 1;
        }
      } catch (error) {
        expect((error as ApiProblem).code).toBe('cuota_agotada');
        refused += 1;
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: 200 }, (_, number) => caller(number)));
  expect([charged, refused]).toEqual([2_000, 200]);
  await expectUsed(payer, 2_000);
  const perDay = (await unitsPerDay(payer)).map((line) => Number(line.split(' ')[1]));
  expect(perDay.reduce((sum, units) => sum + units)).toBe(2_000);
});

test('an account without units is refused before a look-up, at every process, until the end of the month', async () => {
  const payer = await makePayer(scene.pool, 100);
  const [one, other] = processes(2) as [MeterProcess, MeterProcess];
  await one.meter.charge(payer, 70);
  await expectUsed(payer, 70);
  const tooMany = await refusalOf(other.meter.requireUnits(payer, 31));
  expect([tooMany.code, tooMany.extensions.disponible]).toEqual(['cuota_agotada', 30]);
  expect(Number(tooMany.headers['Retry-After']) - secondsOfMonth()).toBeLessThan(60);
  expect(Number(tooMany.headers['Retry-After'])).toBeGreaterThanOrEqual(secondsOfMonth());
  await other.meter.requireUnits(payer, 30);
  await other.meter.charge(payer, 30);
  expect((await refusalOf(other.meter.requireUnits(payer, 1))).extensions.disponible).toBe(0);
  // The other process has spent the 30 units that this one still believes in. The charge is refused all the same.
  await one.meter.requireUnits(payer, 1);
  expect((await refusalOf(one.meter.charge(payer, 1))).extensions.disponible).toBe(0);
});

test('with one unit left, none of many look-ups that find nothing is refused', async () => {
  const payer = await makePayer(scene.pool, 1);
  const [one] = processes(1) as [MeterProcess];
  await Promise.all(Array.from({ length: 6 }, () => one.meter.requireUnits(payer, 1)));
  expect((await chargeAll(one, payer)).charged).toBe(1);
});

test('what is left of the month is known before anything is charged, and writes nothing', async () => {
  const payer = await makePayer(scene.pool, 100);
  const [one] = processes(1) as [MeterProcess];
  expect(await one.meter.standing(payer)).toMatchObject({ limit: 100, remaining: 100 });
  const { rowCount } = await scene.pool.query('SELECT FROM quota_month WHERE account_id = $1', [payer.accountId]);
  expect(rowCount).toBe(0);
});

test('the prepaid balance is drawn after the quota, by a batch over both; new units count at once', async () => {
  const payer = await makePayer(scene.pool, 50);
  expect(await credit(scene.pool, operator, payer.accountId, { units: 30, reference: 'F001-1' })).toBe('credited');
  expect(await credit(scene.pool, operator, payer.accountId, { units: 30, reference: 'F001-1' })).toBe(
    'already_credited',
  );
  expect(await credit(scene.pool, operator, payer.accountId, { units: 31, reference: 'F001-1' })).toBe('other_units');
  const [one, other] = processes(2) as [MeterProcess, MeterProcess];
  await one.meter.charge(payer, 55);
  await vi.waitFor(async () => {
    expect(await readUse(scene.pool, payer.accountId, thisMonth())).toEqual({ limit: 50, used: 50, prepaid: 25 });
  }, 30_000);
  const { charged, refusal } = await chargeAll(other, payer);
  expect(charged).toBe(25);
  expect(Number(refusal.headers['Retry-After'])).toBe(secondsOfMonth());
  await credit(scene.pool, operator, payer.accountId, { units: 7, reference: 'F001-2' });
  await sleep(freshMs);
  await other.meter.requireUnits(payer, 7);
  expect((await chargeAll(other, payer)).charged).toBe(7);
});

test('the quota begins anew at midnight in Lima; a look-up counts in the month of its answer, prepaid units stay', async () => {
  const payer = await makePayer(scene.pool, 10);
  await credit(scene.pool, operator, payer.accountId, { units: 5, reference: 'F001-9' });
  let wallMs = Date.parse('2027-01-01T04:59:59.000Z');
  const [one] = processes(1, { ...systemClock, wallMs: () => wallMs }) as [MeterProcess];
  expect((await chargeAll(one, payer)).charged).toBe(15);
  const december = await refusalOf(one.meter.requireUnits(payer, 1));
  expect(december.headers['Retry-After']).toBe('1');
  await credit(scene.pool, operator, payer.accountId, { units: 5, reference: 'F001-10' });
  await sleep(freshMs);
  await one.meter.requireUnits(payer, 2);
  await one.meter.charge(payer, 1);
  wallMs += 1_000;
  await one.meter.charge(payer, 1);
  await one.meter.requireUnits(payer, 9);
  await one.meter.charge(payer, 4);
  await expectUsed(payer, 5, '2027-01-01');
  expect(await readUse(scene.pool, payer.accountId, '2026-12-01')).toEqual({ limit: 10, used: 10, prepaid: 4 });
  expect(await readUse(scene.pool, payer.accountId, '2027-01-01')).toEqual({ limit: 10, used: 5, prepaid: 4 });
  // Prepaid units count in the use of their day.
  expect(await unitsPerDay(payer)).toEqual(['2026-12-31 16', '2027-01-01 5']);
  const { accountId } = payer;
  expect(await readDailyUse(scene.pool, accountId, '2026-12-01', '2027-01-02')).toEqual([
    { day: '2026-12-31', units: 16 },
    { day: '2027-01-01', units: 5 },
    { day: '2027-01-02', units: 0 },
  ]);
  expect(await readDailyUse(scene.pool, accountId, '2027-02-01', '2027-02-02')).toEqual([
    { day: '2027-02-01', units: 0 },
    { day: '2027-02-02', units: 0 },
  ]);
  const unused = await makePayer(scene.pool, 10);
  expect(await readDailyUse(scene.pool, unused.accountId, '2026-12-01', '2027-01-02')).toEqual([]);
});

test('a process that dies after its answers and before its commit has charged nobody', async () => {
  const line = await makeTcpProxy(scene.database.DATABASE_URL);
  const payer = await makePayer(scene.pool, 100);
  const dying = startMeter(line.url);
  running.push(dying);
  await dying.meter.charge(payer, 20);
  await expectUsed(payer, 20);
  await dying.meter.charge(payer, 3);
  await line.cut();
  const [other] = processes(1) as [MeterProcess];
  expect((await chargeAll(other, payer)).charged).toBe(80);
  // The three units that nobody was charged for are in no day, either.
  await expectUsed(payer, 100);
  expect((await unitsPerDay(payer)).map((line) => line.split(' ')[1])).toEqual(['100']);
  await line.stop();
});

test('PostgreSQL down: known accounts are served without charge for 60 s, which is counted; then, and for others, 503', async () => {
  const line = await makeTcpProxy(scene.database.DATABASE_URL);
  const payer = await makePayer(scene.pool, 60);
  const empty = await makePayer(scene.pool, 1);
  const stranger = await makePayer(scene.pool, 1_000);
  let aheadMs = 0;
  const cut = startMeter(line.url, { wallMs: Date.now, monotonicMs: () => performance.now() + aheadMs });
  running.push(cut);
  for (const each of [payer, empty]) await cut.meter.charge(each, 1);
  await expectUsed(empty, 1);
  await line.cut();
  for (let used = 0; used < 50; used += 1) {
    await cut.meter.requireUnits(payer, 1);
    await cut.meter.charge(payer, 1);
  }
  const uncharged = async () => (await cut.metrics.getSingleMetric('padron_api_uncharged_units_total')!.get()).values;
  expect(await uncharged()).toMatchObject([{ value: 50 }]);
  aheadMs += freshMs;
  for (const each of [empty, stranger]) {
    const unknown = await refusalOf(cut.meter.requireUnits(each, 1));
    expect([unknown.code, Number(unknown.headers['Retry-After'])]).toEqual(['servicio_no_disponible', 5]);
  }
  // No more than was left when PostgreSQL last answered.
  expect((await refusalOf(cut.meter.charge(payer, 10))).code).toBe('servicio_no_disponible');
  await cut.meter.charge(payer, 9);
  const other = await makePayer(scene.pool, 1_000);
  aheadMs += servedUnchargedMs;
  expect((await refusalOf(cut.meter.charge(payer, 1))).code).toBe('servicio_no_disponible');
  expect((await refusalOf(cut.meter.charge(other, 1))).code).toBe('servicio_no_disponible');
  await line.mend();
  aheadMs += freshMs;
  await cut.meter.charge(payer, 1);
  await expectUsed(payer, 2);
  await line.stop();
});

test('a PostgreSQL that hangs is waited for once, and does not charge later what was answered without charge', async () => {
  const line = await makeTcpProxy(scene.database.DATABASE_URL);
  const payer = await makePayer(scene.pool, 100);
  const hung = startMeter(line.url);
  running.push(hung);
  await hung.meter.charge(payer, 1);
  await expectUsed(payer, 1);
  line.freeze();
  const startedMs = performance.now();
  await hung.meter.charge(payer, 2);
  await hung.meter.charge(payer, 3);
  expect(performance.now() - startedMs).toBeLessThan(4_500);
  line.thaw();
  await sleep(1_200);
  await hung.meter.charge(payer, 4);
  await expectUsed(payer, 5);
  await line.stop();
});

test("a charge in the caller's transaction is there with it or not at all, whatever is charged meanwhile", async () => {
  const payer = await makePayer(scene.pool, 100);
  const [one] = processes(1) as [MeterProcess];
  const rolledBack = inTransaction(scene.pool, async (client) => {
    await one.meter.chargeInTransaction(client, payer, 10);
    throw new Error('the answer could not be kept');
  });
  await expect(rolledBack).rejects.toThrow('kept');
  const { meanwhile } = await inTransaction(scene.pool, async (client) => {
    await one.meter.chargeInTransaction(client, payer, 6);
    return { meanwhile: one.meter.charge(payer, 3) };
  });
  await meanwhile;
  await expectUsed(payer, 9);
  const tooMany = inTransaction(scene.pool, (client) => one.meter.chargeInTransaction(client, payer, 92));
  expect((await refusalOf(tooMany)).extensions.disponible).toBe(91);
  expect((await chargeAll(one, payer)).charged).toBe(91);
});
