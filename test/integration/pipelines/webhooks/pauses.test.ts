import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import { claimDeliveries } from '../../../../pipelines/webhooks/claim.ts';
import { deleteWebhookIn, pauseWebhook, resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { holdDeliveries } from '../../../support/delivery/work.ts';
import { makeWatchHarness, type WatchHarness } from '../../../support/watch/harness.ts';

const limits = { deliveryLeaseMs: 60_000, workLeaseMs: 60_000 };
const many = 300;
let harness: WatchHarness;

beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());

/** Deliveries that are due in another order than they are stored, as after retries. */
async function webhookWithManyDue(): Promise<{ id: string; account: number }> {
  const account = await harness.account();
  const { id } = await harness.webhook(account, 'https://example.com/');
  await holdDeliveries(harness, [{ id, account }], many);
  await resumeWebhook(harness.pool, id);
  await harness.pool.query(
    "UPDATE delivery SET next_due_at = now() - position * interval '1 ms' WHERE webhook_id = $1",
    [id],
  );
  // PostgreSQL then reads them in the order in which they are stored.
  await harness.pool.query('ANALYZE delivery');
  return { id, account };
}

it.each(['paused', 'deleted'])('a webhook can be %s in the middle of a claim: the two do not deadlock', async (how) => {
  const { id, account } = await webhookWithManyDue();
  const stop = () =>
    how === 'paused'
      ? pauseWebhook(harness.pool, id, 'cliente')
      : inTransaction(harness.pool, (client) => deleteWebhookIn(client, account, id));
  // A lock on the second delivery stops the claim after it has locked the first.
  const { claim, stopping } = await inTransaction(harness.pool, async (client) => {
    await client.query('SELECT 1 FROM delivery WHERE webhook_id = $1 AND position = $2 FOR UPDATE', [id, many - 1]);
    const claiming = claimDeliveries(harness.pool, id, limits, () => 5);
    await waiting(1);
    const stopped = stop();
    await waiting(2);
    return { claim: claiming, stopping: stopped };
  });
  expect((await claim).deliveries).toHaveLength(5);
  expect(await stopping).toBe(true);
  const { rows } = await harness.pool.query("SELECT 1 FROM delivery WHERE webhook_id = $1 AND estado = 'pendiente'", [
    id,
  ]);
  expect(rows).toEqual([]);
});

/** Resolves when this many sessions wait for a lock. */
async function waiting(count: number): Promise<void> {
  await expect
    .poll(
      async () =>
        (
          await harness.pool.query(
            "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
          )
        ).rows[0].n,
      { timeout: 20_000 },
    )
    .toBeGreaterThanOrEqual(count);
  await sleep(50);
}
