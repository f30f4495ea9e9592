import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, it } from 'vitest';
import { makeWebhookSecret, sealSecret } from '../../../../pipelines/runtime/secrets.ts';
import { pauseWebhook, resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { resendDelivery, writePing } from '../../../../pipelines/webhooks/resend.ts';
import { changeWebhook, rotateSecret } from '../../../../pipelines/webhooks/webhooks.ts';
import { sign } from '../../../../workflows/delivery/signature.ts';
import { type DeliveryHarness, makeDeliveryHarness } from '../../../support/delivery/harness.ts';
import { type ProgrammedReceiver, startProgrammedReceiver, status } from '../../../support/delivery/receiver.ts';
import { keyRing } from '../../../support/watch/harness.ts';

// What a customer does by hand, seen at the receiver. No test here wakes a workflow, so the worker's sweeper must.

const ruc = '20990000019';
let harness: DeliveryHarness;
let receiver: ProgrammedReceiver;
let stopWorker: () => Promise<void>;
let account: number;
let webhook: { id: string; secret: string };
let announce: (ruc: string) => Promise<unknown>;
let path: string;
let scenes = 0;

beforeAll(async () => {
  harness = await makeDeliveryHarness(inject('endpoints'));
  receiver = await startProgrammedReceiver(harness.authority);
  stopWorker = await harness.startWorker();
});
afterAll(async () => {
  await stopWorker();
  await receiver.close();
  await harness.close();
});
beforeEach(async () => {
  scenes += 1;
  path = `/by-hand-${scenes}`;
  ({ account, announce } = await harness.scene([ruc]));
  webhook = await harness.webhook(account, receiver.origin + path);
  receiver.trust(webhook.secret);
});
afterEach(() => receiver.answer(status(204)));

const received = () => receiver.notices.filter((notice) => notice.path === path);
const estados = async () => (await harness.deliveries(webhook.id)).map(({ estado }) => estado);
const healthOf = async () =>
  (
    await harness.pool.query(
      'SELECT estado, fallos_consecutivos, agotados_consecutivos, primer_fallo_at, ultima_entrega_at FROM webhook WHERE id = $1',
      [webhook.id],
    )
  ).rows[0];

it('tests reach a paused endpoint, each once, and their outcomes do not count for its health', async () => {
  await pauseWebhook(harness.pool, webhook.id, 'cliente');
  await announce(ruc);
  const before = await healthOf();
  for (const [index, answer] of [status(204), status(500), status(410)].entries()) {
    receiver.answer(answer, path);
    const id = await writePing(harness.pool, account, webhook.id, new Date());
    await harness.eventually(async () => expect(received()).toHaveLength(index + 1));
    const notice = received().at(-1)!;
    expect(notice.verified).toBe(true);
    expect(notice.headers).toMatchObject({ 'x-service-event': 'ping', 'x-service-delivery': id });
    expect(JSON.parse(notice.raw.toString('utf8'))).toMatchObject({ evento: 'ping', datos: null, watchlist: null });
  }
  await harness.eventually(async () =>
    expect((await estados()).toSorted()).toEqual(['agotada', 'agotada', 'entregada', 'retenida']),
  );
  expect(await healthOf()).toEqual(before);
  await resumeWebhook(harness.pool, webhook.id);
  receiver.answer(status(204), path);
  await harness.eventually(async () => expect(received()).toHaveLength(4));
});

it('a test that answers 410 pauses no active webhook, and failures of tests do not add up', async () => {
  receiver.answer(status(410), path);
  await writePing(harness.pool, account, webhook.id, new Date());
  await harness.eventually(async () => expect(await estados()).toEqual(['agotada']));
  expect(await healthOf()).toMatchObject({ estado: 'activo', fallos_consecutivos: 0 });
});

// webhooks 3.32, Coolhand#123, and "rotate key, receiver still on the old one"
it('after a rotation both secrets sign, the newest first; without a grace period only the new one signs', async () => {
  const rotate = async (graceSeconds: number) => {
    const secret = makeWebhookSecret();
    await rotateSecret(harness.pool, account, webhook.id, sealSecret(keyRing, webhook.id, secret), graceSeconds);
    return secret;
  };
  const signedWith = async (secrets: readonly string[]) => {
    const before = received().length;
    await writePing(harness.pool, account, webhook.id, new Date());
    await harness.eventually(async () => expect(received()).toHaveLength(before + 1));
    const { headers, raw } = received().at(-1)!;
    const expected = sign(
      secrets,
      String(headers['x-service-delivery']),
      Number(headers['x-service-timestamp']),
      raw.toString('utf8'),
    );
    expect(headers['x-service-signature']).toBe(expected);
  };
  const newer = await rotate(3_600);
  await signedWith([newer, webhook.secret]);
  const newest = await rotate(0);
  await signedWith([newest]);
});

it('a delivery sent again by hand keeps its id and goes to the current URL, and its pending retry does not come', async () => {
  receiver.answer(status(500), path);
  await announce(ruc);
  await harness.eventually(async () => expect(await estados()).toEqual(['agotada']));
  const tries = received().length;
  const id = String(received()[0]!.headers['x-service-delivery']);
  path = `${path}-moved`;
  await changeWebhook(harness.pool, account, webhook.id, { url: receiver.origin + path });
  expect(await resendDelivery(harness.pool, account, id)).toMatchObject({ ok: true, estado: 'pendiente' });
  await harness.eventually(async () => expect(await estados()).toEqual(['entregada']));
  expect(received().map(({ headers }) => headers['x-service-delivery'])).toEqual([id]);
  expect(await harness.attempts(id)).toHaveLength(tries + 1);
});
