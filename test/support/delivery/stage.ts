import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Endpoints } from '../../../deploy/local/config.ts';
import { makeTemporal } from '../../../pipelines/runtime/temporal.ts';
import { makeWake, type Wake } from '../../../pipelines/webhooks/work.ts';
import { freshNamespace } from '../engines/isolation.ts';
import { keyRingText, makeWatchHarness, type WatchHarness } from '../watch/harness.ts';
import { forkProcess, killProcess, type Receivers, startReceivers } from './receivers.ts';

/** A delivery worker and the receivers, each in its own process, on a fresh database and namespace. */
export interface DeliveryStage extends WatchHarness, Pick<Receivers, 'origin' | 'take' | 'arrivals'> {
  wake: Wake;
  workerPid: number;
}

const workerFile = fileURLToPath(new URL('./worker-process.ts', import.meta.url));

export async function makeDeliveryStage(endpoints: Endpoints): Promise<DeliveryStage> {
  const harness = await makeWatchHarness(endpoints);
  const namespace = await freshNamespace(endpoints);
  const client = await makeTemporal(endpoints.TEMPORAL_ADDRESS, namespace);
  const receivers = await startReceivers();
  const worker = forkProcess(workerFile, {
    databaseUrl: harness.databaseUrl,
    temporalAddress: endpoints.TEMPORAL_ADDRESS,
    namespace,
    keyRing: keyRingText,
    caPem: receivers.caPem,
    settings: 'default',
    poolSize: 10,
  });
  await once(worker.stdout!, 'data');
  return {
    ...harness,
    ...receivers,
    wake: makeWake(client, { inParallel: 20, deadlineMs: 10_000 }),
    workerPid: worker.pid!,
    close: async () => {
      await Promise.all([killProcess(worker), receivers.close()]);
      await client.connection.close();
      await harness.close();
    },
  };
}
