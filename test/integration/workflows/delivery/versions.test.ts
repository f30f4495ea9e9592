import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { deliveryDeployment } from '../../../../workflows/delivery/worker.ts';
import { type DeliveryBench, makeDeliveryBench } from '../../../support/delivery-bench.ts';
import { type ProgrammedReceiver, startProgrammedReceiver, status } from '../../../support/receiver.ts';

const ruc = '20990000019';
let bench: DeliveryBench;
let receiver: ProgrammedReceiver;

beforeAll(async () => {
  bench = await makeDeliveryBench(inject('endpoints'));
  receiver = await startProgrammedReceiver(bench.authority);
});
afterAll(async () => {
  await receiver.close();
  await bench.close();
});

/** As `temporal worker deployment set-current-version`; the server knows a build once its workers have asked for work. */
function makeCurrent(buildId: string): Promise<void> {
  return bench.eventually(async () => {
    await bench.client.workflowService.setWorkerDeploymentCurrentVersion({
      namespace: bench.namespace,
      deploymentName: deliveryDeployment,
      buildId,
      identity: 'operator',
      ignoreMissingTaskQueues: true,
    });
  });
}

it('a run that sleeps during a deploy goes on in the new build, and only once that is the current one', async () => {
  const schedule = { delaysMs: [3_000, 3_000], jitter: 0, retryAfterCapMs: 5_000 };
  const stopOld = await bench.startWorker({ schedule }, 'old');
  await makeCurrent('old');
  const { account, announce } = await bench.scene([ruc]);
  const webhook = await bench.webhook(account, `${receiver.origin}/deploy`);
  receiver.answer(status(500), '/deploy');
  await announce(ruc);
  await receiver.received(1, { path: '/deploy' });
  const stopNew = await bench.startWorker({ schedule }, 'new');
  await makeCurrent('new');
  await stopOld();
  receiver.answer(status(204), '/deploy');
  await bench.eventually(async () => {
    expect((await bench.deliveries(webhook.id)).map(({ estado }) => estado)).toEqual(['entregada']);
  });
  const handle = bench.client.workflow.getHandle(`delivery/${webhook.id}`);
  await handle.result();
  const { events } = await handle.fetchHistory();
  const builds = (events ?? []).flatMap(
    (event) => event.workflowTaskCompletedEventAttributes?.deploymentVersion?.buildId ?? [],
  );
  expect(builds[0]).toBe('old');
  expect(builds.at(-1)).toBe('new');
  expect(builds.join(' ')).toMatch(/^(old )+(new ?)+$/);
  await stopNew();
});
