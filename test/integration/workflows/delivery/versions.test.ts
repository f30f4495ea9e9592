import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { deliveryDeployment } from '../../../../workflows/delivery/worker.ts';
import { type DeliveryHarness, makeDeliveryHarness } from '../../../support/delivery/harness.ts';
import { type ProgrammedReceiver, startProgrammedReceiver, status } from '../../../support/delivery/receiver.ts';

const ruc = '20990000019';
let harness: DeliveryHarness;
let receiver: ProgrammedReceiver;

beforeAll(async () => {
  harness = await makeDeliveryHarness(inject('endpoints'));
  receiver = await startProgrammedReceiver(harness.authority);
});
afterAll(async () => {
  await receiver.close();
  await harness.close();
});

/**
 * Does what `temporal worker deployment set-current-version` does. The server knows a build once its workers have
 * polled.
 */
function makeCurrent(buildId: string): Promise<void> {
  return harness.eventually(async () => {
    await harness.client.workflowService.setWorkerDeploymentCurrentVersion({
      namespace: harness.namespace,
      deploymentName: deliveryDeployment,
      buildId,
      identity: 'operator',
      ignoreMissingTaskQueues: true,
    });
  });
}

it('a run that sleeps during a deploy goes on in the new build, once that is the current one', async () => {
  const schedule = { delaysMs: [3_000, 3_000], jitter: 0, retryAfterCapMs: 5_000 };
  const stopOld = await harness.startWorker({ schedule }, 'old');
  await makeCurrent('old');
  const { account, announce } = await harness.scene([ruc]);
  const webhook = await harness.webhook(account, `${receiver.origin}/deploy`);
  receiver.answer(status(500), '/deploy');
  await announce(ruc);
  await receiver.received(1, { path: '/deploy' });
  const stopNew = await harness.startWorker({ schedule }, 'new');
  await makeCurrent('new');
  await stopOld();
  receiver.answer(status(204), '/deploy');
  await harness.eventually(async () => {
    expect((await harness.deliveries(webhook.id)).map(({ estado }) => estado)).toEqual(['entregada']);
  });
  const handle = harness.client.workflow.getHandle(`delivery/${webhook.id}`);
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
