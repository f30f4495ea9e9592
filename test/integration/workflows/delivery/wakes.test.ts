import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { expect, inject, it } from 'vitest';
import type { DeliveryActivities } from '../../../../workflows/delivery/activities.ts';
import { freshNamespace } from '../../../support/engines/isolation.ts';
import { quietTemporal, workflowBundle } from '../../../support/engines/temporal.ts';

// This needs a real server: the test server that skips time gives no such guarantee.
it('of 1,500 wake-ups none is lost while a run ends and starts anew: a round starts after each', async () => {
  const address = inject('endpoints').TEMPORAL_ADDRESS;
  const namespace = await freshNamespace(inject('endpoints'));
  const client = new Client({ connection: await Connection.connect({ address }), namespace });
  quietTemporal();
  const connection = await NativeConnection.connect({ address });
  let lastRoundAt = 0;
  const activities: DeliveryActivities = {
    deliverRound: async () => {
      lastRoundAt = performance.now();
      return { webhook: 'activo', nextInMs: null, rate: { emptyAtMs: 0 }, delivered: 0, failed: 0 };
    },
  };
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: 'delivery',
    workflowBundle: await workflowBundle(),
    activities,
  });
  const workflowId = 'delivery/wh_flood';
  const runs = new Set<string>();
  await worker.runUntil(async () => {
    for (let burst = 0; burst < 15; burst += 1) {
      const sentAt = performance.now();
      const handles = await Promise.all(
        Array.from({ length: 100 }, () =>
          client.workflow.signalWithStart('deliver', {
            workflowId,
            taskQueue: 'delivery',
            args: [{ webhookId: 'wh_flood' }],
            signal: 'wake',
          }),
        ),
      );
      for (const { signaledRunId } of handles) runs.add(signaledRunId);
      await expect.poll(() => lastRoundAt, { timeout: 10_000, interval: 5 }).toBeGreaterThan(sentAt);
    }
    await client.workflow.getHandle(workflowId).result();
  });
  expect(runs.size).toBeGreaterThan(1);
  await connection.close();
  await client.connection.close();
});
