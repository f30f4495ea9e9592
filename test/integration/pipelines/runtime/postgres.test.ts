import { setTimeout as sleep } from 'node:timers/promises';
import { expect, inject, test } from 'vitest';
import { passingOf } from '../../../../pipelines/runtime/passing-errors.ts';
import { inTransaction, isSilence, makePool } from '../../../../pipelines/runtime/postgres.ts';
import { freshDatabase } from '../../../support/engines/isolation.ts';
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

test('an error of a connection that its new user does not listen to yet does not end the process', async () => {
  const pool = makePool(inject('endpoints').DATABASE_URL, 'test', 1);
  const client = await pool.connect();
  expect(() => client.emit('error', new Error('terminating connection due to administrator command'))).not.toThrow();
  client.release(true);
  await pool.end();
});

test('a server that only reads is refused as one that is away, and served again once it takes writes', async () => {
  const database = await freshDatabase(inject('endpoints'));
  const name = new URL(database.DATABASE_URL).pathname.slice(1);
  const admin = makePool(inject('endpoints').DATABASE_URL, 'test', 1);
  const setReadOnly = (on: boolean) => admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${on}`);
  const pool = makePool(database.DATABASE_URL, 'test', 2);
  // A connection that is there when the server becomes read-only goes with its first write.
  const write = () => inTransaction(pool, (client) => client.query('CREATE TABLE IF NOT EXISTS written ()'));
  await write();
  await pool.query('SET default_transaction_read_only = on');
  expect(passingOf(await write().catch((error: unknown) => error))).toBe('away');
  await setReadOnly(true);
  const refused = await write().catch((error: unknown) => error);
  expect([passingOf(refused), (refused as Error).message]).toEqual([
    'away',
    expect.stringMatching(/only reads.*DATABASE_URL/),
  ]);
  await setReadOnly(false);
  await write();
  await Promise.all([pool.end(), admin.end()]);
  await database.drop();
});
