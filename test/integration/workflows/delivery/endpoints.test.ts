import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { inTransaction } from '../../../../pipelines/runtime/postgres.ts';
import { deleteWebhookIn, pauseWebhook, resumeWebhook } from '../../../../pipelines/webhooks/pauses.ts';
import { type DeliveryHarness, makeDeliveryHarness } from '../../../support/delivery/harness.ts';
import {
  hang,
  inTurn,
  type ProgrammedReceiver,
  startProgrammedReceiver,
  status,
} from '../../../support/delivery/receiver.ts';
import { quickSettings } from '../../../support/delivery/settings.ts';

const ruc = '20990000019';
let harness: DeliveryHarness;
let receiver: ProgrammedReceiver;
let stopWorker: (() => Promise<void>) | null = null;

beforeAll(async () => {
  harness = await makeDeliveryHarness(inject('endpoints'));
  receiver = await startProgrammedReceiver(harness.authority);
});
afterEach(async () => {
  await stopWorker?.();
  stopWorker = null;
});
afterAll(async () => {
  await receiver.close();
  await harness.close();
});

const manyRucs = (count: number) => Array.from({ length: count }, (_, index) => `2${String(index).padStart(10, '0')}`);
const cameTo = (path: string) => receiver.notices.filter((notice) => notice.path === path);

async function estadosOf(webhook: string): Promise<string[]> {
  return (await harness.deliveries(webhook)).map(({ estado }) => estado);
}

it('the rate holds at the receiver over many rounds, and few connections carry all requests', async () => {
  const round = { ...quickSettings.round!, claimWindowMs: 300, lingerMs: 50 };
  stopWorker = await harness.startWorker({ round });
  const rucs = manyRucs(90);
  const { account, announce } = await harness.scene(rucs);
  const webhook = await harness.webhook(account, `${receiver.origin}/rate`, { rate: 30, inFlight: 5 });
  const sockets = new Set<number | undefined>();
  receiver.answer((_notice, response, request) => {
    sockets.add(request.socket.remotePort);
    response.writeHead(204).end();
  }, '/rate');
  await pauseWebhook(harness.pool, webhook.id, 'cliente');
  for (const each of rucs) await announce(each);
  await resumeWebhook(harness.pool, webhook.id);
  await harness.wake([webhook.id]);
  const times = (await receiver.received(90, { path: '/rate' })).map(({ arrivedAt }) => arrivedAt.getTime());
  // A round starts with the bucket of the round before. A new bucket every 300 ms would let 30 + 3 × 3 through in a
  // second.
  const mostInASecond = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
  expect(mostInASecond).toBeLessThanOrEqual(30 + 3 + 1);
  expect(times.at(-1)! - times[0]!).toBeGreaterThanOrEqual(2_800);
  // Without reuse there would be as many handshakes as requests. Five are in flight at most, and a socket may be
  // renewed.
  expect(sockets.size).toBeLessThanOrEqual(12);
});

it('its owner gets one warning at 50 %, one at 90 % and one notice of the pause', async () => {
  stopWorker = await harness.startWorker({
    schedule: { delaysMs: Array(14).fill(60), jitter: 0, retryAfterCapMs: 1_000 },
    health: { failures: 10, firstFailureAgeMs: 0, slowAfterTimeouts: 3 },
  });
  const { account, announce } = await harness.scene([ruc]);
  const webhook = await harness.webhook(account, `${receiver.origin}/failing`);
  receiver.answer(status(500), '/failing');
  await announce(ruc);
  await harness.eventually(async () => expect(await estadosOf(webhook.id)).toEqual(['retenida']));
  const { rows } = await harness.pool.query<{ kind: string; detail: Record<string, unknown> }>(
    'SELECT kind, detail FROM notice WHERE webhook_id = $1 ORDER BY id',
    [webhook.id],
  );
  expect(rows).toMatchObject([
    { kind: 'webhook.por_pausar', detail: { porcentaje: 50, fallos_consecutivos: 5 } },
    { kind: 'webhook.por_pausar', detail: { porcentaje: 90, fallos_consecutivos: 9 } },
    { kind: 'webhook.pausado', detail: { causa: 'fallos', fallos_consecutivos: 10 } },
  ]);
});

it('a retry goes to the current URL, and is cancelled when the webhook is deleted', async () => {
  stopWorker = await harness.startWorker({ schedule: { delaysMs: [800, 800], jitter: 0, retryAfterCapMs: 1_000 } });
  const { account, announce } = await harness.scene([ruc]);
  const moved = await harness.webhook(account, `${receiver.origin}/old`);
  const deleted = await harness.webhook(account, `${receiver.origin}/deleted`);
  for (const path of ['/old', '/deleted']) receiver.answer(status(500), path);
  await announce(ruc);
  await receiver.received(1, { path: '/old' });
  await receiver.received(1, { path: '/deleted' });
  await harness.eventually(async () => expect(await estadosOf(deleted.id)).toEqual(['pendiente']));
  await harness.pool.query('UPDATE webhook SET url = $2 WHERE id = $1', [moved.id, `${receiver.origin}/new`]);
  await inTransaction(harness.pool, (client) => deleteWebhookIn(client, account, deleted.id));
  const [notice] = await receiver.received(1, { path: '/new' });
  expect(notice!.deliveryId).toBe((await harness.deliveries(moved.id))[0]!.id);
  await sleep(500);
  expect(cameTo('/old')).toHaveLength(1);
  expect(cameTo('/deleted')).toHaveLength(1);
  expect(await estadosOf(deleted.id)).toEqual(['cancelada']);
});

it('if a workflow is terminated while a retry waits, it is started again and the retry comes', async () => {
  stopWorker = await harness.startWorker({ schedule: { delaysMs: [1_500], jitter: 0, retryAfterCapMs: 1_000 } });
  const { account, announce } = await harness.scene([ruc]);
  const webhook = await harness.webhook(account, `${receiver.origin}/forgotten`);
  receiver.answer(inTurn(status(500), status(204)), '/forgotten');
  await announce(ruc);
  const work = () =>
    harness.pool.query('SELECT lease_until, next_due_at > now() AS waits FROM webhook_work WHERE webhook_id = $1', [
      webhook.id,
    ]);
  // The round is over: only the workflow's timer and PostgreSQL know of the retry.
  await harness.eventually(async () => expect((await work()).rows).toEqual([{ lease_until: null, waits: true }]));
  await harness.client.workflow.getHandle(`delivery/${webhook.id}`).terminate('the test forgets it');
  await harness.eventually(async () => expect(await estadosOf(webhook.id)).toEqual(['entregada']));
  expect(cameTo('/forgotten')).toHaveLength(2);
});

it('after three timeouts in a row its rounds run on the queue of slow endpoints, until it answers', async () => {
  stopWorker = await harness.startWorker({
    exchange: { exchangeTimeoutMs: 250, maxBodyBytes: 16_384 },
    schedule: { delaysMs: Array(8).fill(50), jitter: 0, retryAfterCapMs: 1_000 },
  });
  const { account, announce } = await harness.scene([ruc]);
  const webhook = await harness.webhook(account, `${receiver.origin}/slow`);
  receiver.answer(inTurn(hang, hang, hang, hang, status(204)), '/slow');
  await announce(ruc);
  await harness.eventually(async () => expect(await estadosOf(webhook.id)).toEqual(['entregada']));
  const handle = harness.client.workflow.getHandle(`delivery/${webhook.id}`);
  // The run ends once nothing is due, or it would take a slot for ever.
  await handle.result();
  const { events } = await handle.fetchHistory();
  const queues = (events ?? []).flatMap(
    ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.taskQueue?.name ?? [],
  );
  expect(queues[0]).toBe('delivery');
  expect(queues).toContain('delivery-slow');
  expect(queues.at(-1)).toBe('delivery');
});

it('a round that lingers is notified of more work at once, without another round', async () => {
  const round = { ...quickSettings.round!, lingerMs: 3_500, lookAgainMs: 60_000 };
  stopWorker = await harness.startWorker({ round });
  const other = '20990000027';
  const { account, announce } = await harness.scene([ruc, other]);
  await harness.webhook(account, `${receiver.origin}/lingers`);
  await announce(ruc);
  await receiver.received(1, { path: '/lingers' });
  await sleep(300);
  const began = Date.now();
  await announce(other);
  await receiver.received(2, { path: '/lingers' });
  expect(Date.now() - began).toBeLessThan(2_000);
});
