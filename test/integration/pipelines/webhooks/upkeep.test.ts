import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { parseConfiguration } from '../../../../pipelines/runtime/config.ts';
import type { Mail } from '../../../../pipelines/runtime/mail.ts';
import { pauseWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { retentionBlock, retentionRuleOf, startUpkeep } from '../../../../workflows/upkeep.ts';
import {
  batchOf,
  change,
  makeWatchHarness,
  row,
  silentLog,
  type WatchHarness,
} from '../../../support/watch/harness.ts';

const [ruc, otherRuc] = ['20990000019', '20990000027'] as const;
let harness: WatchHarness;
beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());

it('a worker mails owner notices, removes what has expired, and shows the backlog in its metrics', async () => {
  const account = await harness.account();
  await harness.pool.query(`UPDATE account SET email = 'ti@empresa.pe' WHERE id = $1`, [account]);
  await harness.list(account, 'Proveedores', [ruc, otherRuc]);
  await harness.webhook(account, 'https://example.com/');
  const paused = await harness.webhook(account, 'https://example.com/');
  const at = new Date();
  await harness.edition(1, '2026-11-26', at);
  const after = row({ estado: 'BAJA DEFINITIVA' });
  await harness.handler()(batchOf([ruc, otherRuc].map((each) => change(1, each, at, { after }))));
  await pauseWebhook(harness.pool, paused.id, 'cliente');
  await harness.pool.query(`SELECT ensure_event_day((now() - interval '3 months')::date)`);

  const mails: Mail[] = [];
  const metrics = new Registry();
  const stop = startUpkeep({
    pool: harness.pool,
    log: silentLog,
    metrics,
    mailer: { send: async (mail) => void mails.push(mail) },
    rule: retentionRuleOf(parseConfiguration(retentionBlock, { EVENT_RETENTION_MONTHS: '2' })),
    everyMs: { mail: 50, retention: 50, backlog: 50 },
  });
  await vi.waitFor(
    async () => {
      const text = await metrics.metrics();
      expect(text).toMatch(/padron_delivery_due 2\n/);
      expect(text).toMatch(/padron_delivery_held 2\n/);
      expect(text).toMatch(/padron_delivery_in_flight 0\n/);
      expect(text).toMatch(/padron_notices_mailed_total 1\n/);
      const days = await harness.pool.query(`SELECT FROM pg_inherits WHERE inhparent = 'event'::regclass`);
      expect(days.rowCount).toBe(1);
    },
    { timeout: 30_000, interval: 50 },
  );
  await stop();
  expect(mails).toMatchObject([{ to: 'ti@empresa.pe', subject: `Su webhook está pausado: ${paused.id}` }]);
  expect(mails[0]!.text).not.toMatch(/20[0-9]{9}/);
});
