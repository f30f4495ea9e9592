import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type DeliveryHarness, makeDeliveryHarness } from '../../../support/delivery/harness.ts';
import { hang, type ProgrammedReceiver, startProgrammedReceiver, status } from '../../../support/delivery/receiver.ts';
import { quickSettings } from '../../../support/delivery/settings.ts';
import { keyRingText } from '../../../support/watch/harness.ts';

let harness: DeliveryHarness;
let receiver: ProgrammedReceiver;
const children: ChildProcess[] = [];

beforeAll(async () => {
  harness = await makeDeliveryHarness(inject('endpoints'));
  receiver = await startProgrammedReceiver(harness.authority);
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await receiver?.close();
  await harness?.close();
});

async function startWorkerProcess(): Promise<ChildProcess> {
  const options = {
    databaseUrl: harness.databaseUrl,
    temporalAddress: inject('endpoints').TEMPORAL_ADDRESS,
    namespace: harness.namespace,
    keyRing: keyRingText,
    caPem: harness.authority.caPem,
  };
  const file = new URL('../../../support/delivery/worker-process.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--import', 'tsx', file, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  await Promise.race([
    once(child.stdout!, 'data'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the worker process ended with ${code}`))),
  ]);
  return child;
}

it('after a kill between sending and recording the same delivery comes again, and its first attempt shows as unknown', async () => {
  const first = await startWorkerProcess();
  const { account, announce } = await harness.scene(['20990000019']);
  const webhook = await harness.webhook(account, `${receiver.origin}/killed`);
  receiver.trust(webhook.secret);
  receiver.answer((_notice, response) => {
    // The receiver has the request, and the worker never gets the answer.
    first.kill('SIGKILL');
    response.writeHead(204).end();
  }, '/killed');
  await announce('20990000019');
  await receiver.received(1, { path: '/killed' });
  receiver.answer(status(204), '/killed');
  await startWorkerProcess();
  const notices = await receiver.received(2, { path: '/killed', timeoutMs: 60_000 });
  await harness.eventually(async () => {
    expect(await harness.deliveries(webhook.id)).toMatchObject([
      { estado: 'entregada', intentos: 2, fallos_del_ciclo: 0 },
    ]);
  });
  const [delivery] = await harness.deliveries(webhook.id);
  expect(notices.map(({ deliveryId }) => deliveryId)).toEqual([delivery!.id, delivery!.id]);
  expect(notices.every(({ verified }) => verified)).toBe(true);
  expect(await harness.attempts(delivery!.id)).toMatchObject([
    { number: 1, http_status: null, failure: 'resultado_desconocido' },
    { number: 2, http_status: 204, failure: null },
  ]);
  children.at(-1)!.kill('SIGKILL');
});

it('work added at any moment of a round is found without the sweeper', async () => {
  const stop = await harness.startWorker({ sweepEveryMs: 3_600_000 });
  const rucs = Array.from({ length: 120 }, (_, index) => `20700000${String(index).padStart(3, '0')}`);
  const { account, announce } = await harness.scene(rucs);
  const webhook = await harness.webhook(account, `${receiver.origin}/wakes`);
  for (const ruc of rucs) {
    await announce(ruc);
    // This covers the time that a round takes to find nothing and end.
    await sleep(Math.random() * 25);
  }
  await receiver.received(rucs.length, { path: '/wakes', timeoutMs: 5_000 });
  await harness.eventually(async () => {
    const estados = (await harness.deliveries(webhook.id)).map(({ estado }) => estado);
    expect(estados.filter((estado) => estado === 'entregada')).toHaveLength(rucs.length);
  }, 5_000);
  expect(receiver.notices.filter(({ path }) => path === '/wakes')).toHaveLength(rucs.length);
  await stop();
});

it('a stopping worker records what is in flight', async () => {
  const stop = await harness.startWorker();
  const { account, announce } = await harness.scene(['20990000035']);
  const webhook = await harness.webhook(account, `${receiver.origin}/stop`);
  receiver.answer(async (_notice, response) => {
    await sleep(800);
    response.writeHead(204).end();
  }, '/stop');
  await announce('20990000035');
  await receiver.received(1, { path: '/stop' });
  await stop();
  expect(await harness.deliveries(webhook.id)).toMatchObject([{ estado: 'entregada', intentos: 1 }]);
});

it('receivers that do not answer delay no others, not even on the same host', async () => {
  const stop = await harness.startWorker({
    exchange: { exchangeTimeoutMs: 20_000, maxBodyBytes: 16_384 },
    round: { ...quickSettings.round!, deliveryLeaseMs: 30_000, workLeaseMs: 60_000 },
    stopMs: 30_000,
  });
  const slow = await harness.scene(['20990000027']);
  receiver.answer(hang, '/slow');
  for (let index = 0; index < 12; index += 1) await harness.webhook(slow.account, `${receiver.origin}/slow`);
  await slow.announce('20990000027');
  await receiver.received(12, { path: '/slow' });
  const quick = await harness.scene(['20990000035']);
  const webhook = await harness.webhook(quick.account, `${receiver.origin}/quick`);
  await quick.announce('20990000035');
  await harness.eventually(async () => {
    expect(await harness.deliveries(webhook.id)).toMatchObject([{ estado: 'entregada' }]);
  });
  // All slow requests are still in flight.
  const { rows } = await harness.pool.query('SELECT DISTINCT estado, intentos FROM delivery WHERE account_id = $1', [
    slow.account,
  ]);
  expect(rows).toEqual([{ estado: 'en_curso', intentos: 1 }]);
  await receiver.close();
  await stop();
});
