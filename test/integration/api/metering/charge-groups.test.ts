import pino from 'pino';
import { expect, test, vi } from 'vitest';
import { startRemovingExpired } from '../../../../api/expired.ts';
import { maxQueued } from '../../../../api/metering/charge-groups.ts';
import { readUse } from '../../../../api/metering/ledger.ts';
import type { Payer } from '../../../../api/metering/meter.ts';
import { monthOf } from '../../../../api/metering/minute-limits.ts';
import { credit } from '../../../../api/operators/customers.ts';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import { expectUsedOf, type MeterProcess, makePayer, meterScene, refusalOf } from '../../../support/api/meters.ts';

/** Who acts in these tests. */
const operator = { name: 'prueba', way: 'command' } as const;

const scene = meterScene();
const { processes } = scene;

/** One after the other, because each makes a plan of the next rank. */
async function makePayers(count: number): Promise<Payer[]> {
  const payers: Payer[] = [];
  while (payers.length < count) payers.push(await makePayer(scene.pool, 100));
  return payers;
}

const thisMonth = () => monthOf(Date.now()).firstDay;

const expectUsed = (payer: Payer, used: number) => expectUsedOf(scene.pool, payer, used);

test('charges of many accounts that are ready together are one transaction', async () => {
  const payers = await makePayers(5);
  const [one] = processes(1) as [MeterProcess];
  const connect = vi.spyOn(one.pool, 'connect');
  const chargeTogether = () => Promise.all(Array.from({ length: 60 }, (_, at) => one.meter.charge(payers[at % 5]!, 1)));
  // The first charge of an account in a month makes its rows.
  await chargeTogether();
  for (const payer of payers) await expectUsed(payer, 12);
  await vi.waitFor(() => expect(one.pool.idleCount).toBe(one.pool.totalCount), 30_000);
  connect.mockClear();
  await chargeTogether();
  expect(connect).toHaveBeenCalledTimes(1);
  for (const payer of payers) await expectUsed(payer, 24);
});

test('an account whose row another transaction holds does not delay the others, and is charged after it', async () => {
  const [held, free] = [await makePayer(scene.pool, 100), await makePayer(scene.pool, 100)];
  const [one] = processes(1) as [MeterProcess];
  for (const payer of [held, free]) await one.meter.charge(payer, 1);
  let isHeldCharged = false;
  const waiting = await inTransaction(scene.pool, async (client) => {
    await one.meter.chargeInTransaction(client, held, 10);
    const charging = one.meter.charge(held, 1).then(() => {
      isHeldCharged = true;
    });
    await one.meter.charge(free, 1);
    expect(isHeldCharged).toBe(false);
    return { charging };
  });
  await waiting.charging;
  await expectUsed(held, 12);
  await expectUsed(free, 2);
});

test('a row that stays locked: 503 for its account, also for a full queue, and never 429; it recovers by itself', async () => {
  const [held, free] = [await makePayer(scene.pool, 10_000), await makePayer(scene.pool, 100)];
  const [one] = processes(1) as [MeterProcess];
  for (const payer of [held, free]) await one.meter.charge(payer, 1);
  await inTransaction(scene.pool, async (client) => {
    await one.meter.chargeInTransaction(client, held, 10);
    const first = refusalOf(one.meter.charge(held, 1));
    await one.meter.charge(free, 1);
    const queued = Array.from({ length: maxQueued + 5 }, () => refusalOf(one.meter.charge(held, 1)));
    const early = await Promise.all(queued.slice(maxQueued));
    for (const { code } of early) expect(code).toBe('servicio_no_disponible');
    await one.meter.charge(free, 1);
    for (const { code } of [await first, ...(await Promise.all(queued))]) expect(code).toBe('servicio_no_disponible');
    await one.meter.charge(free, 1);
  });
  await one.meter.charge(held, 1);
  await expectUsed(held, 12);
  await expectUsed(free, 4);
});

test('accounts whose rows stay locked leave connections to the others', async () => {
  const [free, ...held] = await makePayers(9);
  const [one] = processes(1) as [MeterProcess];
  for (const payer of [free!, ...held]) await one.meter.charge(payer, 1);
  const { waiting } = await inTransaction(scene.pool, async (client) => {
    for (const payer of held) await one.meter.chargeInTransaction(client, payer, 1);
    const charges = held.map((payer) => one.meter.charge(payer, 1));
    for (let number = 0; number < 10; number += 1) await one.meter.charge(free!, 1);
    return { waiting: Promise.all(charges) };
  });
  await waiting;
  for (const payer of held) await expectUsed(payer, 3);
});

test('what leases of the last release have spent is added to the totals once, ten minutes after they lapsed', async () => {
  const payer = await makePayer(scene.pool, 100);
  await credit(scene.pool, operator, payer.accountId, { units: 50, reference: 'F001-7' });
  const lease = (purse: string, month: string, spent: number, age: string) =>
    scene.pool.query(
      `INSERT INTO quota_lease (id, account_id, month, purse, granted, spent, settled, expires_at)
       VALUES (gen_random_uuid(), $1, $2, $3, 40, $4, 3, now() - $5::interval)`,
      [payer.accountId, month, purse, spent, age],
    );
  await lease('mes', thisMonth(), 5, '11 minutes');
  await lease('mes', thisMonth(), 6, '12 minutes');
  await lease('mes', '2026-01-01', 7, '11 minutes');
  await lease('prepago', thisMonth(), 8, '11 minutes');
  await lease('mes', thisMonth(), 9, '-1 minute');
  const removing = startRemovingExpired(scene.pool, 20, pino({ level: 'silent' }));
  await expectUsed(payer, 17);
  await removing();
  expect(await readUse(scene.pool, payer.accountId, thisMonth())).toEqual({ limit: 100, used: 17, prepaid: 39 });
  expect((await readUse(scene.pool, payer.accountId, '2026-01-01'))?.used).toBe(10);
  // The migration settles all leases, also those in use.
  for (let run = 0; run < 2; run += 1) await scene.pool.query(`SELECT add_up_quota_leases('infinity')`);
  await expectUsed(payer, 29);
  const { rowCount } = await scene.pool.query('SELECT FROM quota_lease WHERE account_id = $1', [payer.accountId]);
  expect(rowCount).toBe(0);
});

test('a batch gets all its units or none, and takes none from those that are charged with it', async () => {
  const payer = await makePayer(scene.pool, 100);
  const [one, other] = processes(2) as [MeterProcess, MeterProcess];
  await one.meter.charge(payer, 40);
  expect((await refusalOf(other.meter.charge(payer, 61))).extensions.disponible).toBe(60);
  const together = await Promise.allSettled([50, 20, 8, 2].map((units) => other.meter.charge(payer, units)));
  expect(together.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  await expectUsed(payer, 100);
});
