import pino from 'pino';
import { expect, inject, test, vi } from 'vitest';
import { Notifications } from '../../../../pipelines/runtime/notifications.ts';
import { makePool } from '../../../../pipelines/runtime/postgres.ts';
import { makeTcpProxy } from '../../../support/engines/tcp-proxy.ts';

test('each listener gets its own payloads; after a lost connection all are called, and the log says once that it is away', async () => {
  const line = await makeTcpProxy(inject('endpoints').DATABASE_URL);
  const pool = makePool(line.url, 'test', 3);
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (text: string) => void lines.push(text) });
  const notifications = new Notifications(pool, ['prueba_uno', 'prueba_dos'], log);
  const [mine, other, all] = [vi.fn(), vi.fn(), vi.fn()];
  const unlisten = notifications.listen('prueba_uno', '7', mine);
  notifications.listen('prueba_uno', '8', other);
  notifications.listenToAll('prueba_dos', all);
  const notify = (channel: string, payload: string) => pool.query('SELECT pg_notify($1, $2)', [channel, payload]);

  notifications.start();
  await vi.waitFor(() => expect([mine, other].map(({ mock }) => mock.calls.length)).toEqual([1, 1]), 30_000);
  await notify('prueba_uno', '7');
  await notify('prueba_dos', 'siete y más');
  await vi.waitFor(() => expect(all.mock.calls).toEqual([['siete y más']]), 30_000);
  expect([mine, other].map(({ mock }) => mock.calls.length)).toEqual([2, 1]);

  await line.cut();
  await vi.waitFor(() => expect(lines).toHaveLength(1), 30_000);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  unlisten();
  await line.mend();
  await vi.waitFor(() => expect(other.mock.calls).toHaveLength(2), 30_000);
  await notify('prueba_uno', '8');
  await vi.waitFor(() => expect(other.mock.calls).toHaveLength(3), 30_000);
  expect(mine.mock.calls).toHaveLength(2);
  expect(lines).toHaveLength(1);

  await notifications.stop();
  await pool.end();
  await line.stop();
});
