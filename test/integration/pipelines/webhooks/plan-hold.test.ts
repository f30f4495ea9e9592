import { afterAll, beforeAll, beforeEach, expect, inject, it } from 'vitest';
import { setPlan } from '../../../../api/operators/customers.ts';
import { makeWebhookSecret, sealSecret } from '../../../../pipelines/runtime/secrets.ts';
import { discardHeldByPlan, pauseWebhook, resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { createWebhook } from '../../../../pipelines/webhooks/webhooks.ts';
import { batchOf, change, keyRing, makeWatchHarness, row, type WatchHarness } from '../../../support/watch/harness.ts';

/** Who acts in these tests. */
const operator = { name: 'prueba', way: 'command' } as const;

const ruc = '20990000019';
let harness: WatchHarness;
let edition = 0;
let account: number;

beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());
beforeEach(async () => {
  await harness.pool.query('UPDATE watch_list SET deleted_at = now() WHERE deleted_at IS NULL');
  account = await harness.account();
  await harness.list(account, 'Proveedores', [ruc]);
});

const webhook = async () => (await harness.webhook(account, 'https://example.com/')).id;

async function announce(): Promise<void> {
  edition += 1;
  const at = new Date();
  await harness.edition(edition, '2026-11-26', at);
  const after = row({ estado: 'BAJA DEFINITIVA' });
  await harness.handler()(batchOf([change(edition, ruc, at, { after })]));
}

const states = async (id: string) =>
  (await harness.pool.query('SELECT estado FROM delivery WHERE webhook_id = $1 ORDER BY position', [id])).rows.map(
    ({ estado }) => estado,
  );
const standing = async (id: string) =>
  (await harness.pool.query('SELECT estado, pausado_por FROM webhook WHERE id = $1', [id])).rows[0];

it('without the plan old and new deliveries are held; with it again all of them are due, in order', async () => {
  const id = await webhook();
  await announce();
  await setPlan(harness.pool, operator, account, 'micro', null);
  await announce();
  expect(await states(id)).toEqual(['retenida', 'retenida']);
  expect(await standing(id)).toEqual({ estado: 'pausado', pausado_por: null });
  expect(await resumeWebhook(harness.pool, id)).toEqual({ resumed: false, released: 0 });
  // Another plan without watching, and the same plan again, change nothing.
  await setPlan(harness.pool, operator, account, 'free', null);
  expect(await states(id)).toEqual(['retenida', 'retenida']);
  await setPlan(harness.pool, operator, account, 'empresa', null);
  expect(await states(id)).toEqual(['pendiente', 'pendiente']);
  expect(await standing(id)).toEqual({ estado: 'activo', pausado_por: null });
  const { rows } = await harness.pool.query(
    'SELECT next_due_at <= now() AS due FROM webhook_work WHERE webhook_id = $1',
    [id],
  );
  expect(rows).toEqual([{ due: true }]);
  await setPlan(harness.pool, operator, account, 'crecimiento', null);
  const notices = await harness.pool.query(
    `SELECT kind, detail->>'causa' AS causa FROM notice WHERE webhook_id = $1 ORDER BY id`,
    [id],
  );
  expect(notices.rows).toEqual([
    { kind: 'webhook.pausado', causa: 'plan' },
    { kind: 'webhook.reanudado', causa: null },
  ]);
});

it('a webhook that its owner had paused stays paused when the plan comes back', async () => {
  const id = await webhook();
  await pauseWebhook(harness.pool, id, 'cliente');
  await setPlan(harness.pool, operator, account, 'free', null);
  await announce();
  await setPlan(harness.pool, operator, account, 'crecimiento', null);
  expect(await standing(id)).toEqual({ estado: 'pausado', pausado_por: 'cliente' });
  expect(await resumeWebhook(harness.pool, id)).toEqual({ resumed: true, released: 1 });
});

it('a webhook made by a caller whose plan has just changed is held like the others', async () => {
  const make = (id: string) =>
    createWebhook(
      harness.pool,
      account,
      { id, url: 'https://example.com/', secret: sealSecret(keyRing, id, makeWebhookSecret()) },
      50,
      'crecimiento',
    );
  expect(await make('wh_before')).toMatchObject({ ok: true, webhook: { estado: 'activo' } });
  await setPlan(harness.pool, operator, account, 'micro', null);
  expect(await make('wh_after')).toMatchObject({ ok: true, webhook: { estado: 'pausado', pausado_por: null } });
  await setPlan(harness.pool, operator, account, 'empresa', null);
  expect(await standing('wh_after')).toEqual({ estado: 'activo', pausado_por: null });
});

it("deliveries held for 30 days because of the plan are discarded; younger ones and other accounts' are not", async () => {
  const id = await webhook();
  await announce();
  await announce();
  await setPlan(harness.pool, operator, account, 'micro', null);
  const back = (column: string, table: string, where: string, days: number) =>
    harness.pool.query(`UPDATE ${table} SET ${column} = now() - make_interval(days => $2) WHERE ${where} = $1`, [
      id,
      days,
    ]);
  await back('created_at', 'delivery', 'webhook_id', 40);
  await back('plan_held_since', 'webhook', 'id', 29);
  expect(await discardHeldByPlan(harness.pool, 30)).toBe(0);
  await back('plan_held_since', 'webhook', 'id', 31);
  await announce();
  expect(await discardHeldByPlan(harness.pool, 30)).toBe(2);
  expect(await states(id)).toEqual(['descartada', 'descartada', 'retenida']);
  expect(await discardHeldByPlan(harness.pool, 30)).toBe(0);
  await setPlan(harness.pool, operator, account, 'crecimiento', null);
  expect(await states(id)).toEqual(['descartada', 'descartada', 'pendiente']);
});
