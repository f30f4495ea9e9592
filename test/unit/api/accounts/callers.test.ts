import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { makeIdentify, makeIdentifyReader } from '../../../../api/accounts/callers.ts';
import { ApiProblem } from '../../../../api/problems.ts';
import { makePool } from '../../../../pipelines/runtime/postgres.ts';
import { sandboxToken, strangerToken } from '../../../support/api/calendar-app.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('a PostgreSQL that hangs keeps nobody from the calendar, and opens it to no malformed token', async () => {
  const sockets: Socket[] = [];
  // Accepts connections and never answers.
  const silent = createServer((socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const pool = makePool(`postgres://padron@127.0.0.1:${port}/padron`, 'test', 1);
  const identifyReader = makeIdentifyReader(makeIdentify(pool, sandboxToken), 50);

  // Time stands still for PostgreSQL's own limits, which are longer than the calendar's 50 ms.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const reading = identifyReader(`Bearer ${strangerToken}`);
  await vi.advanceTimersByTimeAsync(50);
  expect(await reading).toBeNull();
  vi.useRealTimers();
  expect(await identifyReader(`Bearer ${sandboxToken}`)).toBeNull();
  for (const header of [undefined, 'Bearer x', `Basic ${sandboxToken}`])
    await expect(identifyReader(header)).rejects.toBeInstanceOf(ApiProblem);

  for (const socket of sockets) socket.destroy();
  silent.close();
  await pool.end();
});

test('an error that does not come from PostgreSQL is not swallowed', async () => {
  const identifyReader = makeIdentifyReader(() => Promise.reject(new TypeError('a defect')));
  await expect(identifyReader(`Bearer ${strangerToken}`)).rejects.toThrow('a defect');
  const revoked = makeIdentifyReader(() => Promise.reject(new ApiProblem('token_revocado', 'El token fue revocado.')));
  await expect(revoked(`Bearer ${strangerToken}`)).rejects.toMatchObject({ code: 'token_revocado' });
});
