import { setTimeout as sleep } from 'node:timers/promises';
import { expect, inject, test } from 'vitest';
import { inTransaction, isSilence, makePool } from '../../../../pipelines/runtime/postgres.ts';
import { makeTcpProxy } from '../../../support/engines/tcp-proxy.ts';

test('a connection that breaks between two queries fails the transaction and not the process; the pool continues', async () => {
  const line = await makeTcpProxy(inject('endpoints').DATABASE_URL);
  const pool = makePool(line.url, 'test', 1);
  const broken = inTransaction(pool, async (client) => {
    await client.query('SELECT 1');
    await line.cut();
    await sleep(50);
    await client.query('SELECT 1');
  });
  await expect(broken).rejects.toThrow();
  await line.mend();
  expect(await inTransaction(pool, async (client) => (await client.query('SELECT 2 AS two')).rows)).toEqual([
    { two: 2 },
  ]);
  await pool.end();
  await line.stop();
});

test('a server that hangs in a statement gives one error, and the pool continues with another connection', async () => {
  const line = await makeTcpProxy(inject('endpoints').DATABASE_URL);
  const pool = makePool(line.url, 'test', 1, 500);
  const startedAt = Date.now();
  const silent = inTransaction(pool, async (client) => {
    await client.query('SELECT 1');
    line.freeze();
    await client.query('SELECT 1');
  });
  expect(isSilence(await silent.catch((error: unknown) => error))).toBe(true);
  // A rollback over the hanging connection would take as long again.
  expect(Date.now() - startedAt).toBeLessThan(10_000);
  line.thaw();
  expect((await pool.query('SELECT 3 AS three')).rows).toEqual([{ three: 3 }]);
  await pool.end();
  await line.stop();
});
