import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { QueryResultRow } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makePool, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { watchServer } from '../../../../pipelines/runtime/server-watch.ts';
import { credentialsFile, type PostgresServer, startServer } from '../../../support/engines/postgres-servers.ts';
import { makeTcpProxy, type TcpProxy } from '../../../support/engines/tcp-proxy.ts';
import { silentLog } from '../../../support/watch/harness.ts';

/** Longer than the test. So only the watch can end a statement or the making of a connection. */
const neverMs = 600_000;

const directory = mkdtempSync(path.join(tmpdir(), 'padron-server-watch-'));
const stops: (() => unknown)[] = [() => rmSync(directory, { recursive: true, force: true })];
const servers: PostgresServer[] = [];
let address: TcpProxy;
beforeAll(async () => {
  for (const name of ['first', 'second']) {
    const folder = path.join(directory, name);
    mkdirSync(folder);
    // Both servers have the same accounts, so they need the same passwords.
    const [before] = servers;
    if (before) copyFileSync(path.join(before.directory, credentialsFile), path.join(folder, credentialsFile));
    const server = await startServer(folder);
    stops.push(() => server.stack.stop());
    servers.push(server);
  }
  address = await makeTcpProxy(servers[0]!.url);
  stops.push(() => address.stop());
});
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

async function first<Row extends QueryResultRow>(pool: Pool, statement: string): Promise<Row> {
  return (await pool.query<Row>(statement)).rows[0]!;
}

test('when the address leads to another server, nothing waits for the lost one', async () => {
  const pool = makePool(address.url, 'test', 3, neverMs, neverMs);
  stops.push(() => pool.end(), watchServer(pool, address.url, 'test', silentLog));
  const port = "SELECT current_setting('port') AS port";
  const portBefore = await first(pool, port);
  const watches = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = 'test-watch'";
  await expect.poll(() => first(pool, `${watches} AND query = 'SELECT 1'`)).toEqual({ count: 1 });

  const running = expect(pool.query('SELECT pg_sleep(600)')).rejects.toThrow(/terminated/);
  address.strand();
  const connecting = expect(pool.query('SELECT 1')).rejects.toThrow(/terminated/);
  await expect.poll(() => address.unanswered()).toBeGreaterThan(0);
  address.moveTo(servers[1]!.url);
  await Promise.all([running, connecting]);
  expect(await first(pool, port)).not.toEqual(portBefore);
});
