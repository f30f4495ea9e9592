import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Logger } from '../../../../pipelines/runtime/log.ts';
import type { Pool, PoolClient } from '../../../../pipelines/runtime/postgres.ts';
import { claimDeliveries } from '../../../../pipelines/webhooks/claim.ts';
import { recordResults } from '../../../../pipelines/webhooks/results.ts';
import { warnOfFewLocks } from '../../../../pipelines/webhooks/retention.ts';
import { batchOf, change, makeWatchHarness, row, type WatchHarness } from '../../../support/watch/harness.ts';

let harness: WatchHarness;
beforeAll(async () => {
  harness = await makeWatchHarness(inject('endpoints'));
});
afterAll(() => harness.close());

it('the local stack has enough locks for 13 months; with too few an operator is warned what to set', async () => {
  const warnings: object[] = [];
  const log = { warn: (fields: object) => void warnings.push(fields) } as unknown as Logger;
  await warnOfFewLocks(harness.pool, log, 13);
  expect(warnings).toEqual([]);
  // The months to keep count before their partitions are there.
  await warnOfFewLocks(harness.pool, log, 999);
  expect(warnings).toEqual([{ locks: 102_400, leastLocks: 250_000, maxLocksPerTransaction: 1_250 }]);
  // Partitions that an earlier release made for days count one by one.
  await harness.pool.query(
    `DO $$ BEGIN FOR n IN 1..28 LOOP EXECUTE format(
       'CREATE TABLE delivery_202502%s PARTITION OF delivery FOR VALUES FROM (%L) TO (%L)', lpad(n::text, 2, '0'),
       DATE '2025-02-01' + n - 1, DATE '2025-02-01' + n); END LOOP; END $$`,
  );
  await warnOfFewLocks(harness.pool, log, 1, 10_000);
  expect(warnings.slice(1)).toEqual([{ locks: 102_400, leastLocks: 280_000, maxLocksPerTransaction: 1_400 }]);
});

/** A pool of one session that counts its locks before each commit. */
function counted(client: PoolClient, seen: number[]): Pool {
  const query = async (...args: unknown[]) => {
    if (args[0] === 'COMMIT') {
      const { rows } = await client.query('SELECT count(*) AS n FROM pg_locks WHERE pid = pg_backend_pid()');
      seen.push(rows[0].n);
    }
    return (client.query as (...all: unknown[]) => unknown)(...args);
  };
  return { connect: async () => ({ query, on: () => {}, off: () => {}, release: () => {} }) } as unknown as Pool;
}

it('a round locks only the partitions that it needs, however many there are and however often it asks', async () => {
  await harness.pool.query(`SELECT ensure_event_day(current_date - 30 * n) FROM generate_series(0, 40) n`);
  const rucs = Array.from({ length: 12 }, (_, index) => `207000${String(index).padStart(5, '0')}`);
  const account = await harness.account();
  await harness.list(account, 'Proveedores', rucs);
  const webhook = await harness.webhook(account, 'https://example.com/');
  const at = new Date();
  await harness.edition(1, '2026-11-26', at);
  await harness.handler()(
    batchOf(rucs.map((ruc) => change(1, ruc, at, { after: row({ estado: 'BAJA DEFINITIVA' }) }))),
  );
  const client = await harness.pool.connect();
  const seen: number[] = [];
  const limits = { deliveryLeaseMs: 60_000, workLeaseMs: 60_000 };
  // PostgreSQL considers a generic plan at the sixth execution.
  for (let time = 0; time < rucs.length; time += 1) {
    const { deliveries } = await claimDeliveries(counted(client, seen), webhook.id, limits, () => 1);
    expect(deliveries).toHaveLength(1);
    const ended = { durationMs: 5, success: true, httpStatus: 204, failure: null, response: null, responseCut: false };
    await client.query('BEGIN');
    await recordResults(
      { query: client.query.bind(client) } as unknown as Pool,
      webhook.id,
      deliveries.map((delivery) => ({ ...delivery, ...ended, retryInMs: null })),
    );
    await counted(client, seen)
      .connect()
      .then((one) => one.query('COMMIT'));
  }
  client.release();
  expect(seen).toHaveLength(2 * rucs.length);
  expect(Math.max(...seen)).toBeLessThan(80);
});
