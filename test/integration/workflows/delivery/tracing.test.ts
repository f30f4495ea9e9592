import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { parseConfiguration, tracingBlock } from '../../../../pipelines/runtime/config.ts';
import { startTracing } from '../../../../pipelines/runtime/tracing/start.ts';
import { deliveryWorkflow } from '../../../../pipelines/webhooks/work.ts';
import { type DeliveryHarness, makeDeliveryHarness } from '../../../support/delivery/harness.ts';
import {
  inTurn,
  type ProgrammedReceiver,
  startProgrammedReceiver,
  status,
} from '../../../support/delivery/receiver.ts';
import { type Collector, startCollector } from '../../../support/process/collector.ts';
import { silentLog } from '../../../support/watch/harness.ts';

const company = '20990000019';
let harness: DeliveryHarness;
let receiver: ProgrammedReceiver;
let collector: Collector;
let stopTracing: () => Promise<void>;
let stopWorker: () => Promise<void>;

beforeAll(async () => {
  collector = await startCollector();
  const settings = parseConfiguration(tracingBlock, collector.environment);
  stopTracing = await startTracing('worker', settings, silentLog);
  harness = await makeDeliveryHarness(inject('endpoints'));
  receiver = await startProgrammedReceiver(harness.authority);
  stopWorker = await harness.startWorker();
});
afterAll(async () => {
  await stopWorker();
  await receiver.close();
  await harness.close();
  await stopTracing();
  await collector.close();
});

it('each attempt is a span in its round, found by delivery, change and run, and no span has personal data', async () => {
  const { account, announce } = await harness.scene([company]);
  const path = '/secreto-del-cliente';
  const webhook = await harness.webhook(account, receiver.origin + path);
  receiver.trust(webhook.secret);
  receiver.answer(inTurn(status(500, {}, 'respuesta privada'), status(204)), path);
  await announce(company);
  const [notice] = await receiver.received(2, { path });
  const delivery = notice!.deliveryId;
  const { rows } = await harness.pool.query('SELECT register, edition FROM event WHERE account_id = $1', [account]);
  await expect
    .poll(() => collector.spans().filter(({ attributes }) => attributes['padron.delivery'] === delivery).length, {
      timeout: 20_000,
    })
    .toBe(2);
  const [failed, delivered] = (await collector.find({ 'padron.delivery': delivery })).sort(
    (a, b) => Number(a.attributes['padron.attempt']) - Number(b.attributes['padron.attempt']),
  );
  const common = {
    'http.request.method': 'POST',
    'padron.webhook': webhook.id,
    'padron.event': 'ruc.estado_cambiado',
    'padron.register': rows[0].register,
    'padron.edition': rows[0].edition,
  };
  expect(failed).toMatchObject({
    name: 'POST',
    status: { code: 2 },
    attributes: { ...common, 'padron.attempt': 1, 'http.response.status_code': 500, 'error.type': 'estado_http' },
  });
  expect(delivered).toMatchObject({
    status: { code: 0 },
    attributes: { ...common, 'padron.attempt': 2, 'http.response.status_code': 204 },
  });
  await stopWorker();
  const [round] = (await collector.find({ 'padron.webhook': webhook.id, 'temporal.attempt': 1 })).filter(
    ({ spanId }) => spanId === delivered!.parentSpanId,
  );
  expect(round).toMatchObject({
    name: 'deliverRound',
    traceId: delivered!.traceId,
    attributes: {
      'temporal.workflow_id': deliveryWorkflow.idOf(webhook.id),
      'temporal.run_id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'padron.delivered': expect.any(Number),
    },
  });
  for (const secret of [company, 'ACTIVO', 'secreto', 'privada', '127.0.0.1', 'localhost', webhook.secret])
    expect(collector.text()).not.toContain(secret);
});
