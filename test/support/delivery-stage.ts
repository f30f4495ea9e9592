import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { makeAuthority } from '../../deploy/local/demo/authority.ts';
import type { Endpoints } from '../../deploy/local/endpoints.ts';
import { makeTemporal } from '../../deploy/runtime/temporal.ts';
import { makeWake, type Wake } from '../../pipelines/watch/wake.ts';
import type { Arrival, TakenArrivals } from './delivery-receivers-process.ts';
import { freshNamespace } from './isolation.ts';
import { keyRingText, makeWatchBench, type WatchBench } from './watch-bench.ts';

/** A worker and the receivers as processes of their own, on a database and namespace of their own. */
export interface DeliveryStage extends WatchBench {
  wake: Wake;
  /** https://127.0.0.1:<port> of the receivers. */
  origin: string;
  /** What arrived since the last call. */
  take: () => Promise<TakenArrivals>;
  /** Calls `take` until so many of those that `isAwaited` have come, or the time is up; gives all that came. */
  arrivals: (count: number, timeoutMs: number, isAwaited?: (arrival: Arrival) => boolean) => Promise<Arrival[]>;
  workerPid: number;
}

const receiversFile = fileURLToPath(new URL('./delivery-receivers-process.ts', import.meta.url));
const workerFile = fileURLToPath(new URL('./delivery-worker-process.ts', import.meta.url));
const pollMs = 100;

export async function makeDeliveryStage(endpoints: Endpoints): Promise<DeliveryStage> {
  const bench = await makeWatchBench(endpoints);
  const namespace = await freshNamespace(endpoints);
  const client = await makeTemporal(endpoints.TEMPORAL_ADDRESS, namespace);
  const authority = await makeAuthority('Receivers');
  const { receivers, port } = await startReceivers(await authority.issue({ names: ['127.0.0.1'] }));
  const worker = start(workerFile, {
    databaseUrl: bench.databaseUrl,
    temporalAddress: endpoints.TEMPORAL_ADDRESS,
    namespace,
    keyRing: keyRingText,
    caPem: authority.caPem,
    settings: 'default',
    poolSize: 10,
  });
  await once(worker.stdout!, 'data');
  const take = async () => {
    receivers.send('take');
    const [taken] = (await once(receivers, 'message')) as [TakenArrivals];
    return taken;
  };
  return {
    ...bench,
    wake: makeWake(client, { inParallel: 20, deadlineMs: 10_000 }),
    origin: `https://127.0.0.1:${port}`,
    take,
    arrivals: async (count, timeoutMs, isAwaited = () => true) => {
      const found: Arrival[] = [];
      for (const until = Date.now() + timeoutMs; found.filter(isAwaited).length < count && Date.now() < until; ) {
        await new Promise((resolve) => setTimeout(resolve, pollMs));
        found.push(...(await take()).arrivals);
      }
      return found;
    },
    workerPid: worker.pid!,
    close: async () => {
      const ended = [worker, receivers].map((child) => once(child, 'exit'));
      worker.kill('SIGKILL');
      receivers.kill('SIGKILL');
      await Promise.all(ended);
      await client.connection.close();
      await bench.close();
    },
  };
}

/** Resolves when they listen. */
export async function startReceivers(options: {
  certificatePem: string;
  keyPem: string;
  port?: number;
  ledgerFile?: string;
}): Promise<{ receivers: ChildProcess; port: number }> {
  const receivers = start(receiversFile, options);
  const [{ port }] = (await once(receivers, 'message')) as [{ port: number }];
  return { receivers, port };
}

function start(file: string, options: object): ChildProcess {
  return fork(file, [JSON.stringify(options)], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
}
