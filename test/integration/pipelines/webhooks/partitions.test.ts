import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { inTransaction, type Pool, type PoolClient } from '../../../../pipelines/runtime/postgres.ts';
import { pageEvents } from '../../../../pipelines/watch/history.ts';
import { backlogByWebhook, readBacklog, readEndpoint } from '../../../../pipelines/webhooks/backlog.ts';
import { pageDeliveries } from '../../../../pipelines/webhooks/delivery-log.ts';
import { deleteWebhookIn, discardHeld, pauseWebhook, resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { listWebhooks, readWebhook } from '../../../../pipelines/webhooks/webhooks.ts';
import { fillPastDays } from '../../../support/delivery/past-days.ts';
import { makeWatchHarness, type WatchHarness } from '../../../support/watch/harness.ts';
import { makeSingleDays } from '../../../support/watch/single-days.ts';

const days = 395;
/** So many days lie in so many calendar months at most. */
const months = 14;

let harness: WatchHarness;
beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());

/** A pool of one session that asks PostgreSQL for each statement's plan and notes the partitions in it. */
function explained(client: PoolClient, plans: Set<string>[]): Pool {
  const query = async (statement: string | { text: string; values?: unknown[] }, values: unknown[] = []) => {
    const { text, values: own = values } = typeof statement === 'string' ? { text: statement } : statement;
    if (/^\s*(SELECT|WITH|UPDATE|INSERT|DELETE)/.test(text)) {
      const { rows } = await client.query({ text: `EXPLAIN (FORMAT JSON) ${text}`, values: own });
      const names = JSON.stringify(rows).matchAll(/"Relation Name":"((?:event|delivery|attempt)_[0-9_]+)"/g);
      plans.push(new Set([...names].map(([, name]) => name!)));
    }
    return client.query({ text, values: own });
  };
  return { query, connect: async () => ({ query, on: () => {}, off: () => {}, release: () => {} }) } as unknown as Pool;
}

/** The most partitions in the plan of one statement of each operation. */
async function partitionsTouched(account: number, webhook: string): Promise<Record<string, number>> {
  const client = await harness.pool.connect();
  const most = async (operation: (pool: Pool) => Promise<unknown>) => {
    const plans: Set<string>[] = [];
    await operation(explained(client, plans));
    return Math.max(...plans.map((names) => names.size));
  };
  try {
    return {
      read: await most((pool) => readWebhook(pool, account, webhook)),
      list: await most((pool) => listWebhooks(pool, account)),
      pause: await most((pool) => pauseWebhook(pool, webhook, 'cliente')),
      discard: await most((pool) => discardHeld(pool, webhook, new Date('2000-01-01'))),
      resume: await most((pool) => resumeWebhook(pool, webhook)),
      deliveries: await most((pool) => pageDeliveries(pool, webhook, { after: null }, 50)),
      events: await most((pool) => pageEvents(pool, account, { after: 0 }, 50)),
      backlog: await most(readBacklog),
      backlogs: await most((pool) => backlogByWebhook(pool, 20)),
      endpoint: await most((pool) => readEndpoint(pool, webhook)),
      remove: await most((pool) => inTransaction(pool, (one) => deleteWebhookIn(one, account, webhook))),
    };
  } finally {
    client.release();
  }
}

async function subscriber(): Promise<{ account: number; id: string }> {
  const account = await harness.account();
  return { account, id: (await harness.webhook(account, 'https://example.com/')).id };
}

it(`after ${days} days, no operation of a webhook touches more partitions than ${days} days have months`, async () => {
  const one = await subscriber();
  await fillPastDays(harness.pool, [one], days);
  expect((await readWebhook(harness.pool, one.account, one.id))!.pendientes).toBe(Math.ceil(days / 30));
  await harness.pool.query(`UPDATE webhook SET estado = 'pausado', pausado_por = 'cliente' WHERE id = $1`, [one.id]);
  expect(await resumeWebhook(harness.pool, one.id)).toEqual({ resumed: true, released: Math.ceil(days / 30) });
  const touched = await partitionsTouched(one.account, one.id);
  for (const [operation, partitions] of Object.entries(touched)) {
    expect(partitions, operation).toBeGreaterThan(0);
    expect(partitions, operation).toBeLessThanOrEqual(months);
  }
});

it('the count sees every partition: those that an earlier release made for single days are touched one by one', async () => {
  const one = await subscriber();
  const { rows } = await harness.pool.query<{ day: string }>(
    `SELECT (current_date - 800 - n)::text AS day FROM generate_series(1, 60) AS n`,
  );
  const before = (await partitionsTouched(one.account, one.id)).read!;
  const singleDays = rows.map(({ day }) => day);
  await inTransaction(harness.pool, (client) => makeSingleDays(client, singleDays));
  const other = await subscriber();
  const touched = await partitionsTouched(other.account, other.id);
  expect(touched).toMatchObject({ read: before + 60, pause: before + 60, resume: before + 60 });
});
