import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, inject, it, vi } from 'vitest';
import { inTransaction, type Pool } from '../../../../pipelines/runtime/postgres.ts';
import { claimDeliveries } from '../../../../pipelines/webhooks/claim.ts';
import { deleteWebhookIn, pauseWebhook, resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { changeWebhook } from '../../../../pipelines/webhooks/webhooks.ts';
import {
  after,
  inTurn,
  type ProgrammedReceiver,
  startProgrammedReceiver,
  status,
} from '../../../support/delivery/receiver.ts';
import { makeRoundHarness, type RoundHarness, type RoundScene } from '../../../support/delivery/round-harness.ts';
import { quickSettings } from '../../../support/delivery/settings.ts';
import { Fuse } from '../../../support/publication/fuse.ts';

const [first, second] = ['20990000019', '20990000027'] as const;
const hourMs = 3_600_000;
let harness: RoundHarness;
let receiver: ProgrammedReceiver;
let paths = 0;

beforeAll(async () => {
  harness = await makeRoundHarness(inject('endpoints'));
  receiver = await startProgrammedReceiver(harness.authority);
});
afterEach(() => {
  vi.unstubAllGlobals();
});
afterAll(async () => {
  await receiver.close();
  await harness.close();
});

async function sceneAt(rate?: number): Promise<RoundScene & { path: string }> {
  paths += 1;
  const path = `/hook-${paths}`;
  return { ...(await harness.scene(receiver.origin + path, [first, second], rate)), path };
}

/** Shifts the worker's clock and nothing else. It runs on from there; timers and PostgreSQL are not affected. */
function setWorkersClock(byMs: number): void {
  vi.unstubAllGlobals();
  const Machine = Date;
  const now = () => Machine.now() + byMs;
  const Shifted = new Proxy(Machine, {
    construct: (target, given, self) => Reflect.construct(target, given.length === 0 ? [now()] : given, self),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
  vi.stubGlobal('Date', Shifted);
}

it('if a worker’s clock is set back during a round, nobody waits for it', async () => {
  const { announce, work, deliveries, path } = await sceneAt(1);
  await announce(first);
  await announce(second);
  receiver.answer((notice, response, request) => {
    setWorkersClock(-hourMs);
    return status(204)(notice, response, request);
  }, path);
  const began = performance.now();
  await work();
  expect((await deliveries()).map(({ estado }) => estado)).toEqual(['entregada', 'entregada']);
  expect(performance.now() - began).toBeLessThan(15_000);
});

it('if a worker’s clock is set forward by a day, nothing is paused: failures are as old as PostgreSQL says', async () => {
  const { announce, work, standing, path } = await sceneAt();
  await announce(first);
  let asked = 0;
  receiver.answer((notice, response, request) => {
    asked += 1;
    if (asked === 2) setWorkersClock(30 * hourMs);
    return status(500)(notice, response, request);
  }, path);
  await work({
    schedule: { delaysMs: [50, 50, 50], jitter: 0, retryAfterCapMs: 1_000 },
    health: { failures: 3, firstFailureAgeMs: 24 * hourMs, slowAfterTimeouts: 3 },
  });
  expect(await standing()).toEqual({ estado: 'activo', pausado_por: null, failures: 4 });
  const { rows } = await harness.pool.query("SELECT 1 FROM notice WHERE kind = 'webhook.por_pausar'");
  expect(rows).toEqual([]);
});

it('answers of an old URL neither pause a webhook that has changed nor count against it', async () => {
  const { account, webhook, announce, work, deliveries, standing, path } = await sceneAt();
  await announce(first);
  receiver.answer(async (notice, response, request) => {
    await changeWebhook(harness.pool, account, webhook, { url: `${receiver.origin}${path}/new` });
    return status(410)(notice, response, request);
  }, path);
  await work();
  expect(await standing()).toEqual({ estado: 'activo', pausado_por: null, failures: 0 });
  expect(await deliveries()).toEqual([{ estado: 'entregada', intentos: 2 }]);
  expect(await receiver.received(1, { path: `${path}/new` })).toHaveLength(1);
});

it('a 410 pauses although PostgreSQL was away when it was to be stored', async () => {
  const { announce, round, standing, path } = await sceneAt();
  await announce(first);
  let away = false;
  const failing = {
    query: (...asked: unknown[]) => (harness.pool.query as (...args: unknown[]) => unknown).apply(harness.pool, asked),
    connect: async () => {
      if (!away) return harness.pool.connect();
      away = false;
      throw new Error('PostgreSQL is away');
    },
  } as unknown as Pool;
  receiver.answer((notice, response, request) => {
    away = true;
    return status(410)(notice, response, request);
  }, path);
  // Only the end of the attempt makes the round claim again.
  await round({ round: { ...quickSettings.round!, lookAgainMs: 3_000 } }, { pool: failing });
  expect(away).toBe(false);
  expect(await standing()).toMatchObject({ estado: 'pausado', pausado_por: 'respuesta_410' });
});

it.each([
  ['Retry-After twice', '503 Busy', 'Retry-After: 3600\r\nRetry-After: 7200\r\n'],
  ['Retry-After of another kind', '429 Slow down', 'Retry-After: soon\r\n'],
  [
    'every header twice',
    '503 Busy',
    'Content-Type: a/b\r\nContent-Type: c/d\r\nContent-Encoding: gzip\r\nContent-Encoding: br\r\n',
  ],
])('an answer with %s is an ordinary failure, tried again on schedule', async (_, line, headers) => {
  const { announce, work, deliveries, path } = await sceneAt();
  await announce(first);
  const odd = (_notice: unknown, _response: unknown, request: { socket: { end: (text: string) => void } }) =>
    request.socket.end(`HTTP/1.1 ${line}\r\n${headers}Content-Length: 2\r\n\r\nno`);
  receiver.answer(inTurn(odd as never, status(204)), path);
  await work();
  expect(await deliveries()).toEqual([{ estado: 'entregada', intentos: 2 }]);
});

it("a dead worker's delivery is held when its lease ends, if its webhook is paused by then", async () => {
  const { webhook, announce, round, deliveries } = await sceneAt();
  await announce(first);
  // The worker claims and then dies.
  await claimDeliveries(harness.pool, webhook, { deliveryLeaseMs: 1_500, workLeaseMs: 1_500 }, () => 10);
  await pauseWebhook(harness.pool, webhook, 'cliente');
  const early = await round();
  expect(await deliveries()).toEqual([{ estado: 'en_curso', intentos: 1 }]);
  expect(early).toMatchObject({ webhook: 'pausado', nextInMs: expect.any(Number) });
  await sleep(early.nextInMs! + 100);
  expect(await round()).toMatchObject({ webhook: 'pausado', nextInMs: null });
  expect(await deliveries()).toEqual([{ estado: 'retenida', intentos: 1 }]);
  expect(await resumeWebhook(harness.pool, webhook)).toEqual({ resumed: true, released: 1 });
  await round();
  expect(await deliveries()).toEqual([{ estado: 'entregada', intentos: 2 }]);
});

it('nothing of a deleted webhook stays open: a late success is recorded, abandoned deliveries are cancelled', async () => {
  const remove = ({ account, webhook }: RoundScene) =>
    inTransaction(harness.pool, (client) => deleteWebhookIn(client, account, webhook));
  const abandoned = await sceneAt();
  await abandoned.announce(first);
  await claimDeliveries(harness.pool, abandoned.webhook, { deliveryLeaseMs: 0, workLeaseMs: 0 }, () => 10);
  await remove(abandoned);
  expect(await abandoned.deliveries()).toEqual([{ estado: 'cancelada', intentos: 1 }]);

  for (const [code, estado] of [
    [204, 'entregada'],
    [500, 'cancelada'],
  ] as const) {
    const scene = await sceneAt();
    await scene.announce(first);
    receiver.answer(after(400, status(code)), scene.path);
    const ends = scene.round();
    await receiver.received(1, { path: scene.path });
    await remove(scene);
    expect(await ends).toMatchObject({ webhook: 'eliminado', nextInMs: null });
    expect(await scene.deliveries()).toEqual([{ estado, intentos: 1 }]);
  }
  const { rows } = await harness.pool.query(
    `SELECT 1 FROM delivery d JOIN webhook w ON w.id = d.webhook_id
     WHERE w.deleted_at IS NOT NULL AND d.estado IN ('pendiente', 'en_curso', 'retenida')`,
  );
  expect(rows).toEqual([]);
});

it('a worker that dies after any of its calls to PostgreSQL loses no delivery, and repeats only one in flight', async () => {
  let calls = 0;
  let repeated = 0;
  for (let died = true; died; calls += 1) {
    const { announce, round, work, deliveries, path } = await sceneAt();
    for (const ruc of [first, second, first]) await announce(ruc);
    const fuse = new Fuse(calls);
    // The round takes its death for an outage of PostgreSQL and waits as long as the lease, so the lease is short.
    const quick = {
      round: { claimWindowMs: 400, deliveryLeaseMs: 600, workLeaseMs: 600, lingerMs: 0, lookAgainMs: 200 },
      schedule: { delaysMs: [20, 20, 20], jitter: 0, retryAfterCapMs: 1_000 },
    };
    // The receiver refuses once, so that there are failures to be judged too.
    receiver.answer(inTurn(status(500), status(204)), path);
    try {
      await round(quick, { pool: fuse.pool(harness.pool) });
    } catch (error) {
      if (!fuse.isBlown) throw error;
    }
    died = fuse.isBlown;
    await work(quick);
    expect((await deliveries()).map(({ estado }) => estado)).toEqual(['entregada', 'entregada', 'entregada']);
    const accepted = receiver.notices.filter((notice) => notice.path === path).slice(1);
    const ids = accepted.map(({ deliveryId }) => deliveryId);
    expect(new Set(ids).size).toBe(3);
    repeated += ids.length - 3;
    const tries = (await deliveries()).reduce((sum, { intentos }) => sum + intentos, 0);
    // Every request has an attempt in the log. An attempt may be in the log without its request.
    expect(tries).toBeGreaterThanOrEqual(ids.length + 1);
  }
  expect(calls).toBeGreaterThan(10);
  expect(repeated).toBeLessThan(calls * 2);
});
