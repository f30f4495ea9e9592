import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { pauseWebhook, resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { type DeliveryHarness, makeDeliveryHarness } from '../../../support/delivery/harness.ts';
import {
  cutGzip,
  dripping,
  endless,
  gzipBomb,
  hang,
  inTurn,
  type ProgrammedReceiver,
  reset,
  startProgrammedReceiver,
  status,
} from '../../../support/delivery/receiver.ts';

const first = '20990000019';
const second = '20990000027';
let harness: DeliveryHarness;
let receiver: ProgrammedReceiver;
let stopWorker: () => Promise<void>;
let paths = 0;

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
afterEach(() => receiver.answer(status(204)));

/** A webhook at a path of its own. */
async function webhookAt(account: number, options: Parameters<DeliveryHarness['webhook']>[2] = {}) {
  paths += 1;
  const path = `/hook-${paths}`;
  const webhook = await harness.webhook(account, receiver.origin + path, options);
  receiver.trust(webhook.secret);
  return { ...webhook, path };
}

async function endsAs(webhook: string, ...estados: string[]): Promise<void> {
  await harness.eventually(async () => {
    expect((await harness.deliveries(webhook)).map(({ estado }) => estado)).toEqual(estados);
  });
}

it('a delivery arrives once, signed, byte for byte as stored', async () => {
  const { account, announce } = await harness.scene([first]);
  const webhook = await webhookAt(account);
  await announce(first);
  const [notice] = await receiver.received(1, { path: webhook.path });
  await endsAs(webhook.id, 'entregada');
  const [delivery] = await harness.deliveries(webhook.id);
  const stored = await harness.pool.query('SELECT payload FROM event WHERE account_id = $1', [account]);
  expect(notice!.verified).toBe(true);
  expect(notice!.raw.toString('utf8')).toBe(stored.rows[0].payload);
  expect(notice!.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'Padron-Webhooks/0.0.0-test',
    'x-service-event': 'ruc.estado_cambiado',
    'x-service-delivery': delivery!.id,
    'x-service-timestamp': notice!.headers['webhook-timestamp'],
    'x-service-signature': notice!.headers['webhook-signature'],
    'webhook-id': delivery!.id,
  });
  expect(receiver.notices.filter(({ path }) => path === webhook.path)).toHaveLength(1);
  expect(await harness.attempts(delivery!.id)).toMatchObject([{ number: 1, http_status: 204, failure: null }]);
});

it('a retry keeps the delivery id and is signed with its own time', async () => {
  const { account, announce } = await harness.scene([first]);
  const webhook = await webhookAt(account);
  receiver.answer(inTurn(status(500, {}, 'no hoy'), status(429, { 'retry-after': '1' }), status(200)), webhook.path);
  await announce(first);
  const notices = await receiver.received(3, { path: webhook.path });
  await endsAs(webhook.id, 'entregada');
  const [delivery] = await harness.deliveries(webhook.id);
  expect(notices.every(({ verified }) => verified)).toBe(true);
  expect(new Set(notices.map(({ deliveryId }) => deliveryId))).toEqual(new Set([delivery!.id]));
  const [, asked, answered] = notices.map(({ arrivedAt }) => arrivedAt.getTime());
  expect(answered! - asked!).toBeGreaterThanOrEqual(1_000);
  const stamps = notices.map(({ headers }) => Number(headers['webhook-timestamp']));
  expect(stamps[2]).toBeGreaterThan(stamps[0]!);
  const attempts = await harness.attempts(delivery!.id);
  expect(attempts).toMatchObject([
    { number: 1, http_status: 500, failure: 'estado_http' },
    { number: 2, http_status: 429, failure: 'estado_http' },
    { number: 3, http_status: 200, failure: null },
  ]);
  expect(attempts[0]!.response?.toString()).toBe('no hoy');
  await harness.eventually(async () => {
    const { rows } = await harness.pool.query('SELECT fallos_consecutivos AS n FROM webhook WHERE id = $1', [
      webhook.id,
    ]);
    expect(rows).toEqual([{ n: 0 }]);
  });
});

it.each([400, 403, 404, 503])(
  '%d for ever: after the last attempt of the schedule it is exhausted, and no more is sent',
  async (code) => {
    const { account, announce } = await harness.scene([first]);
    const webhook = await webhookAt(account);
    receiver.answer(status(code), webhook.path);
    await announce(first);
    await endsAs(webhook.id, 'agotada');
    const [delivery] = await harness.deliveries(webhook.id);
    expect(delivery).toMatchObject({ intentos: 4, next_due_at: null });
    expect(await receiver.received(4, { path: webhook.path })).toHaveLength(4);
  },
);

describe('what a receiver does to its answer', () => {
  it.each([
    ['an endless body', endless],
    ['a dripping body', dripping],
    ['a gzip bomb', gzipBomb],
    ['a gzip body that breaks off', cutGzip],
  ])('%s after 200 is a success', async (_name, answer) => {
    const { account, announce } = await harness.scene([first]);
    const webhook = await webhookAt(account);
    receiver.answer(answer, webhook.path);
    await announce(first);
    await endsAs(webhook.id, 'entregada');
    const [delivery] = await harness.deliveries(webhook.id);
    const [attempt] = await harness.attempts(delivery!.id);
    expect(attempt).toMatchObject({ http_status: 200, failure: null });
    expect(attempt!.response!.length).toBeLessThanOrEqual(16_384);
    expect(attempt!.response_cut).toBe(true);
  });

  it.each([
    [16_384, false],
    [16_385, true],
    [0, false],
  ])('of a body of %i bytes at most 16,384 are kept, and it stands as cut: %s', async (bytes, cut) => {
    const { account, announce } = await harness.scene([first]);
    const webhook = await webhookAt(account);
    receiver.answer(status(200, {}, 'z'.repeat(bytes)), webhook.path);
    await announce(first);
    await endsAs(webhook.id, 'entregada');
    const [delivery] = await harness.deliveries(webhook.id);
    const [attempt] = await harness.attempts(delivery!.id);
    expect(attempt!.response).toHaveLength(Math.min(bytes, 16_384));
    expect(attempt!.response_cut).toBe(cut);
  });

  it.each([
    ['no answer', 'tiempo_agotado', null, hang],
    ['a connection that ends', 'conexion_interrumpida', null, reset],
    ['304', 'redireccion', 304, status(304)],
    ['302 without a place', 'redireccion', 302, status(302)],
  ])('%s is a failure: %s', async (_name, failure, code, answer) => {
    const { account, announce } = await harness.scene([first]);
    const webhook = await webhookAt(account);
    receiver.answer(answer, webhook.path);
    await announce(first);
    await harness.eventually(async () => {
      const [delivery] = await harness.deliveries(webhook.id);
      const [attempt] = await harness.attempts(delivery!.id);
      expect(attempt).toMatchObject({ failure, http_status: code });
    });
  });

  it('a redirect to loopback is never followed, whatever its kind', async () => {
    let asked = 0;
    const inside = createServer((_request, response) => {
      asked += 1;
      response.end();
    });
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
    const location = `http://127.0.0.1:${(inside.address() as AddressInfo).port}/`;
    const { account, announce } = await harness.scene([first]);
    const webhook = await webhookAt(account);
    receiver.answer(inTurn(status(302, { location }), status(307, { location }), status(204)), webhook.path);
    await announce(first);
    await endsAs(webhook.id, 'entregada');
    inside.close();
    expect(asked).toBe(0);
  });
});

it('an untrusted certificate and a name that does not exist show as their classes', async () => {
  const { account, announce } = await harness.scene([first]);
  const stranger = await startProgrammedReceiver();
  const untrusted = await harness.webhook(account, `${stranger.origin}/`);
  const nowhere = await harness.webhook(account, 'https://no-such-name.invalid/');
  const inside = await harness.webhook(account, 'https://169.254.169.254/');
  await announce(first);
  const expected = new Map([
    [untrusted.id, 'certificado_no_confiable'],
    [nowhere.id, 'nombre_no_resuelto'],
    [inside.id, 'direccion_no_permitida'],
  ]);
  for (const [webhook, failure] of expected) {
    await harness.eventually(async () => {
      const [delivery] = await harness.deliveries(webhook);
      expect((await harness.attempts(delivery!.id))[0]).toMatchObject({ failure, http_status: null, response: null });
    });
  }
  // Each is tried again on schedule, like any other failure.
  for (const webhook of expected.keys()) {
    await harness.eventually(async () => {
      expect(await harness.deliveries(webhook)).toMatchObject([{ estado: 'agotada', intentos: 4 }]);
    });
  }
  expect(stranger.notices).toHaveLength(0);
  await stranger.close();
});

describe('pausing', () => {
  it('410 pauses at once and holds what is pending; a resume sends exactly that, once', async () => {
    const { account, announce } = await harness.scene([first, second]);
    const webhook = await webhookAt(account);
    receiver.answer(status(410), webhook.path);
    await announce(first);
    await endsAs(webhook.id, 'retenida');
    await announce(second);
    await endsAs(webhook.id, 'retenida', 'retenida');
    const paused = await harness.pool.query('SELECT estado, pausado_por FROM webhook WHERE id = $1', [webhook.id]);
    expect(paused.rows).toEqual([{ estado: 'pausado', pausado_por: 'respuesta_410' }]);
    expect(receiver.notices.filter(({ path }) => path === webhook.path)).toHaveLength(1);

    receiver.answer(status(204), webhook.path);
    expect(await resumeWebhook(harness.pool, webhook.id)).toEqual({ resumed: true, released: 2 });
    await harness.wake([webhook.id]);
    await endsAs(webhook.id, 'entregada', 'entregada');
    const sent = receiver.notices.filter(({ path }) => path === webhook.path).slice(1);
    const ids = (await harness.deliveries(webhook.id)).map(({ id }) => id);
    expect(sent.map(({ deliveryId }) => deliveryId).sort()).toEqual([...ids].sort());
  });

  it('five events for a paused webhook are kept, and exactly five are sent on resume', async () => {
    const rucs = Array.from({ length: 5 }, (_, index) => `2060000000${index}`);
    const { account, announce } = await harness.scene(rucs);
    const webhook = await webhookAt(account);
    await pauseWebhook(harness.pool, webhook.id, 'cliente');
    for (const ruc of rucs) await announce(ruc);
    await endsAs(webhook.id, ...rucs.map(() => 'retenida'));
    await resumeWebhook(harness.pool, webhook.id);
    await harness.wake([webhook.id]);
    await endsAs(webhook.id, ...rucs.map(() => 'entregada'));
    expect(receiver.notices.filter(({ path }) => path === webhook.path)).toHaveLength(5);
  });

  it('a resume whose wake-up is lost is found by the sweeper', async () => {
    const { account, announce } = await harness.scene([first]);
    const webhook = await webhookAt(account);
    await pauseWebhook(harness.pool, webhook.id, 'cliente');
    await announce(first);
    await endsAs(webhook.id, 'retenida');
    await resumeWebhook(harness.pool, webhook.id);
    await endsAs(webhook.id, 'entregada');
  });
});

it('one event for two webhooks makes two deliveries with their own ids, secrets and retries', async () => {
  const { account, announce } = await harness.scene([first]);
  const good = await webhookAt(account);
  const bad = await webhookAt(account);
  receiver.answer(inTurn(status(503), status(503), status(204)), bad.path);
  await announce(first);
  await endsAs(good.id, 'entregada');
  await endsAs(bad.id, 'entregada');
  const [one] = await harness.deliveries(good.id);
  const [other] = await harness.deliveries(bad.id);
  expect(one!.id).not.toBe(other!.id);
  expect([one!.intentos, other!.intentos]).toEqual([1, 3]);
  expect(receiver.notices.filter(({ path }) => path === good.path)).toHaveLength(1);
});

it('first attempts of one RUC are sent in order of publication and never two at once', async () => {
  const { account } = await harness.scene([first]);
  const webhook = await webhookAt(account, { inFlight: 10 });
  let running = 0;
  let most = 0;
  receiver.answer(async (_notice, response) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 60));
    running -= 1;
    response.writeHead(204).end();
  }, webhook.path);
  for (let round = 0; round < 4; round += 1) {
    const { announce } = await harness.scene([first]);
    await harness.pool.query('UPDATE watch_list SET account_id = $1 WHERE deleted_at IS NULL', [account]);
    await announce(first);
  }
  const notices = await receiver.received(4, { path: webhook.path });
  const positions = notices.map(({ body }) => (body as { posicion: number }).posicion);
  expect(positions).toEqual([...positions].sort((a, b) => a - b));
  expect(most).toBe(1);
});

it('the limits of rate and in-flight requests hold at the receiver', async () => {
  const rucs = Array.from({ length: 40 }, (_, index) => `206000001${String(index).padStart(2, '0')}`);
  const { account, announce } = await harness.scene(rucs);
  const webhook = await webhookAt(account, { inFlight: 3, rate: 20 });
  let running = 0;
  let most = 0;
  receiver.answer(async (_notice, response) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 80));
    running -= 1;
    response.writeHead(204).end();
  }, webhook.path);
  await pauseWebhook(harness.pool, webhook.id, 'cliente');
  for (const ruc of rucs) await announce(ruc);
  await resumeWebhook(harness.pool, webhook.id);
  await harness.wake([webhook.id]);
  const notices = await receiver.received(40, { path: webhook.path });
  const times = notices.map(({ arrivedAt }) => arrivedAt.getTime());
  expect(most).toBeLessThanOrEqual(3);
  expect(times.at(-1)! - times[0]!).toBeGreaterThanOrEqual(1_800);
});

it('a deleted webhook receives nothing more', async () => {
  const { account, announce } = await harness.scene([first]);
  const webhook = await webhookAt(account);
  receiver.answer(status(500), webhook.path);
  await announce(first);
  await receiver.received(1, { path: webhook.path });
  await harness.pool.query('UPDATE webhook SET deleted_at = now() WHERE id = $1', [webhook.id]);
  const before = receiver.notices.length;
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(receiver.notices.length - before).toBeLessThanOrEqual(1);
});
