import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Pool } from '../../../../pipelines/runtime/postgres.ts';
import { type ClaimedDelivery, claimDeliveries } from '../../../../pipelines/webhooks/claim.ts';
import { pauseWebhook, resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { recordResults } from '../../../../pipelines/webhooks/results.ts';
import { releaseWork } from '../../../../pipelines/webhooks/work.ts';
import { holdDeliveries } from '../../../support/delivery/work.ts';
import { batchOf, change, makeWatchHarness, row, type WatchHarness } from '../../../support/watch/harness.ts';

const oldDay = new Date('2026-10-20T10:00:00Z');
const newDay = new Date('2026-11-27T10:00:00Z');
const limits = { deliveryLeaseMs: 60_000, workLeaseMs: 60_000 };
let harness: WatchHarness;
let edition = 0;

beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());

async function announce(ruc: string, at: Date): Promise<void> {
  edition += 1;
  await harness.edition(edition, '2026-11-26', at);
  await harness.handler()(batchOf([change(edition, ruc, at, { after: row({ estado: 'BAJA DEFINITIVA' }) })]));
}

/** A webhook of an account that alone watches the RUCs. */
async function webhookFor(rucs: readonly string[], inFlight = 10): Promise<string> {
  await harness.pool.query('UPDATE watch_list SET deleted_at = now() WHERE deleted_at IS NULL');
  const account = await harness.account();
  const list = await harness.list(account, 'Proveedores', rucs);
  const early = new Date('2026-01-01');
  await harness.pool.query('UPDATE watch_list SET created_at = $2 WHERE id = $1', [list, early]);
  await harness.pool.query('UPDATE watch_member SET added_at = $2 WHERE list_id = $1', [list, early]);
  const { id } = await harness.webhook(account, 'https://example.com/', { inFlight });
  await harness.pool.query('UPDATE webhook SET created_at = $2 WHERE id = $1', [id, early]);
  return id;
}

const result = (delivery: ClaimedDelivery, success: boolean) => ({
  ...delivery,
  durationMs: 5,
  success,
  httpStatus: success ? 204 : 500,
  failure: success ? null : 'estado_http',
  response: null,
  responseCut: false,
  retryInMs: 60_000,
});

const openSince = async (webhook: string) =>
  (await harness.pool.query('SELECT open_since FROM webhook_work WHERE webhook_id = $1', [webhook])).rows[0].open_since;

it('deliveries of all open days are found, and the earliest open day moves when a round ends', async () => {
  const webhook = await webhookFor(['20990000019', '20990000027']);
  await announce('20990000019', newDay);
  await announce('20990000027', oldDay);
  expect(await openSince(webhook)).toBe('2026-10-20');
  const first = await claimDeliveries(harness.pool, webhook, limits, () => 10);
  expect(first.deliveries.map(({ day }) => day)).toEqual(['2026-11-27', '2026-10-20']);
  await recordResults(
    harness.pool,
    webhook,
    first.deliveries.map((delivery) => result(delivery, delivery.day === '2026-10-20')),
  );
  const second = await claimDeliveries(harness.pool, webhook, limits, () => 10);
  expect(second.deliveries).toEqual([]);
  expect(second.nextDueInMs).toBeGreaterThan(50_000);
  expect(await releaseWork(harness.pool, webhook, second)).toBe(true);
  expect(await openSince(webhook)).toBe('2026-11-27');
});

it('deliveries that were held for weeks are found after a resume', async () => {
  const webhook = await webhookFor(['20990000019', '20990000027']);
  await pauseWebhook(harness.pool, webhook, 'cliente');
  await announce('20990000019', oldDay);
  expect((await claimDeliveries(harness.pool, webhook, limits, () => 10)).deliveries).toEqual([]);
  await resumeWebhook(harness.pool, webhook);
  await announce('20990000027', newDay);
  const { deliveries } = await claimDeliveries(harness.pool, webhook, limits, () => 10);
  expect(deliveries.map(({ day }) => day).sort()).toEqual(['2026-10-20', '2026-11-27']);
});

it('work that is added after a claim keeps the round from ending', async () => {
  const webhook = await webhookFor(['20990000019']);
  await announce('20990000019', newDay);
  const { deliveries } = await claimDeliveries(harness.pool, webhook, limits, () => 10);
  await recordResults(
    harness.pool,
    webhook,
    deliveries.map((delivery) => result(delivery, true)),
  );
  const empty = await claimDeliveries(harness.pool, webhook, limits, () => 10);
  await announce('20990000019', newDay);
  expect(await releaseWork(harness.pool, webhook, empty)).toBe(false);
  expect((await claimDeliveries(harness.pool, webhook, limits, () => 10)).deliveries).toHaveLength(1);
});

it('two rounds at once never hold the same delivery, two of one RUC, or more than the in-flight limit', async () => {
  const rucs = Array.from({ length: 30 }, (_, index) => `207000010${String(index).padStart(2, '0')}`);
  const webhook = await webhookFor(rucs, 7);
  for (const ruc of rucs) await announce(ruc, newDay);
  await announce(rucs[0]!, newDay);
  const claims = await Promise.all(
    Array.from({ length: 6 }, () => claimDeliveries(harness.pool, webhook, limits, () => 5)),
  );
  const held = claims.flatMap(({ deliveries }) => deliveries);
  expect(held).toHaveLength(7);
  expect(new Set(held.map(({ id }) => id)).size).toBe(7);
  const firstOfRuc = held.filter(({ payload }) => payload.includes(rucs[0]!));
  expect(firstOfRuc).toHaveLength(1);
});

it('a result under an ended lease changes no delivery, but its attempt is recorded', async () => {
  const webhook = await webhookFor(['20990000019']);
  await announce('20990000019', newDay);
  const late = await claimDeliveries(harness.pool, webhook, { ...limits, deliveryLeaseMs: 0 }, () => 10);
  const again = await claimDeliveries(harness.pool, webhook, limits, () => 10);
  expect(again.deliveries).toMatchObject([{ id: late.deliveries[0]!.id, attempt: 2 }]);
  expect(await recordResults(harness.pool, webhook, [result(late.deliveries[0]!, true)])).toBe(0);
  const { rows } = await harness.pool.query(
    `SELECT d.estado, a.number, a.http_status, a.failure FROM delivery d JOIN attempt a ON a.delivery_id = d.id
     WHERE d.webhook_id = $1 ORDER BY a.number`,
    [webhook],
  );
  expect(rows).toEqual([
    { estado: 'en_curso', number: 1, http_status: 204, failure: null },
    { estado: 'en_curso', number: 2, http_status: null, failure: 'resultado_desconocido' },
  ]);
});

it('if a secret cannot be decrypted, nothing is claimed', async () => {
  const webhook = await webhookFor(['20990000019']);
  await announce('20990000019', newDay);
  const failing = claimDeliveries(harness.pool, webhook, limits, () => {
    throw new Error('no key');
  });
  await expect(failing).rejects.toThrow('no key');
  const { rows } = await harness.pool.query('SELECT estado, intentos FROM delivery WHERE webhook_id = $1', [webhook]);
  expect(rows).toEqual([{ estado: 'pendiente', intentos: 0 }]);
});

it('a small claim is quick beside thousands of due deliveries, whatever the statistics say', async () => {
  const webhook = await webhookFor([]);
  const account = (await harness.pool.query('SELECT account_id AS id FROM webhook WHERE id = $1', [webhook])).rows[0]
    .id;
  await holdDeliveries(harness, [{ id: webhook, account }], 4_000);
  // The server itself may do this while all deliveries are held. The statistics then say that nothing is open.
  await harness.pool.query('ANALYZE delivery');
  await resumeWebhook(harness.pool, webhook);
  const began = performance.now();
  const first = await claimDeliveries(harness.pool, webhook, limits, () => 10);
  await recordResults(
    harness.pool,
    webhook,
    first.deliveries.map((delivery) => result(delivery, true)),
  );
  const second = await claimDeliveries(harness.pool, webhook, limits, () => 10);
  // The plan that this test must prevent takes minutes.
  expect(performance.now() - began).toBeLessThan(30_000);
  const positions = [...first.deliveries, ...second.deliveries].map(
    ({ payload }) => (JSON.parse(payload) as { posicion: number }).posicion,
  );
  expect(positions).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
});

it('results are recorded by the keys of their deliveries, and PostgreSQL keeps the plan', async () => {
  const webhook = await webhookFor([]);
  const account = (await harness.pool.query('SELECT account_id AS id FROM webhook WHERE id = $1', [webhook])).rows[0]
    .id;
  await holdDeliveries(harness, [{ id: webhook, account }], 1_000);
  await resumeWebhook(harness.pool, webhook);
  const { deliveries } = await claimDeliveries(harness.pool, webhook, limits, () => 1);
  const statements: { text: string; values: unknown[] }[] = [];
  const spy = {
    query: async (statement: (typeof statements)[number]) => {
      statements.push(statement);
      return { rows: [{ updated: 1 }] };
    },
  };
  await recordResults(
    spy as unknown as Pool,
    webhook,
    deliveries.map((delivery) => result(delivery, true)),
  );
  const client = await harness.pool.connect();
  try {
    const [{ text, values }] = statements as [(typeof statements)[number]];
    // PostgreSQL decides at the sixth call whether it keeps a plan.
    for (let call = 1; call <= 6; call += 1) await client.query({ name: 'record', text, values });
    const kept = await client.query("SELECT generic_plans FROM pg_prepared_statements WHERE name = 'record'");
    expect(kept.rows).toEqual([{ generic_plans: 1 }]);
    const plan = (await client.query(`EXPLAIN (GENERIC_PLAN) ${text}`)).rows
      .map((line) => line['QUERY PLAN'])
      .join('\n');
    expect(plan).toContain('Index Cond: ((day =');
    expect(plan).not.toMatch(/Hash Join|Merge Join|Seq Scan on (delivery|attempt)/);
  } finally {
    client.release(true);
  }
});
