import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { Registry } from 'prom-client';
import { vi } from 'vitest';
import type { Endpoints } from '../../../deploy/local/config.ts';
import { makeWake, type Wake } from '../../../pipelines/webhooks/work.ts';
import { type DeliverySettings, makeDeliveryWorker } from '../../../workflows/delivery/worker.ts';
import { freshNamespace } from '../engines/isolation.ts';
import { quietTemporal, workflowBundle } from '../engines/temporal.ts';
import { batchOf, change, keyRing, makeWatchHarness, row, silentLog, type WatchHarness } from '../watch/harness.ts';
import { type Authority, makeAuthority } from './authority.ts';
import { quickSettings } from './settings.ts';

/** The watch harness with a delivery worker on a fresh Temporal namespace. */
export interface DeliveryHarness extends WatchHarness {
  authority: Authority;
  client: Client;
  namespace: string;
  wake: Wake;
  /** Creates an account with one list of these companies; `announce` writes a change that suspends one of them. */
  scene: (rucs: readonly string[]) => Promise<{ account: number; announce: (ruc: string) => Promise<void> }>;
  deliveries: (webhook: string) => Promise<DeliveryRow[]>;
  attempts: (delivery: string) => Promise<AttemptRow[]>;
  /** Polls until the check passes; after the deadline it throws the check's last failure. */
  eventually: (check: () => Promise<void>, timeoutMs?: number) => Promise<void>;
  startWorker: (settings?: Partial<DeliverySettings>, buildId?: string) => Promise<() => Promise<void>>;
}

export interface DeliveryRow {
  id: string;
  ruc: string;
  estado: string;
  intentos: number;
  fallos_del_ciclo: number;
  next_due_at: Date | null;
}

export interface AttemptRow {
  number: number;
  http_status: number | null;
  failure: string | null;
  response: Buffer | null;
  response_cut: boolean;
}

const detectedAt = new Date('2026-11-27T09:20:31.250Z');

export async function makeDeliveryHarness(endpoints: Endpoints): Promise<DeliveryHarness> {
  quietTemporal();
  const harness = await makeWatchHarness(endpoints);
  const namespace = await freshNamespace(endpoints);
  const authority = await makeAuthority('Test authority');
  const connection = await Connection.connect({ address: endpoints.TEMPORAL_ADDRESS });
  const native = await NativeConnection.connect({ address: endpoints.TEMPORAL_ADDRESS });
  const client = new Client({ connection, namespace });
  const wake = makeWake(client, { inParallel: 10, deadlineMs: 5_000 });
  let edition = 0;
  return {
    ...harness,
    authority,
    client,
    namespace,
    wake,
    scene: async (rucs) => {
      edition += 1;
      const number = edition;
      await harness.pool.query('UPDATE watch_list SET deleted_at = now() WHERE deleted_at IS NULL');
      await harness.edition(number, '2026-11-26', detectedAt);
      const account = await harness.account();
      await harness.list(account, 'Proveedores', rucs);
      const handle = harness.handler({ wake });
      const after = row({ estado: 'SUSPENSION TEMPORAL' });
      return { account, announce: (ruc) => handle(batchOf([change(number, ruc, detectedAt, { after })])) };
    },
    deliveries: async (webhook) => {
      const { rows } = await harness.pool.query<DeliveryRow>(
        `SELECT id, ruc, estado, intentos, fallos_del_ciclo, next_due_at FROM delivery
         WHERE webhook_id = $1 ORDER BY position`,
        [webhook],
      );
      return rows;
    },
    attempts: async (delivery) => {
      const { rows } = await harness.pool.query<AttemptRow>(
        'SELECT number, http_status, failure, response, response_cut FROM attempt WHERE delivery_id = $1 ORDER BY number',
        [delivery],
      );
      return rows;
    },
    eventually: (check, timeout = 20_000) => vi.waitFor(check, { timeout, interval: 30 }),
    startWorker: async (settings = {}, buildId) => {
      const worker = await makeDeliveryWorker(native, {
        pool: harness.pool,
        client,
        namespace,
        keyRing,
        policy: { allowPrivateTargets: true, extraCaPem: authority.caPem },
        version: '0.0.0-test',
        buildId,
        log: silentLog,
        metrics: new Registry(),
        settings: { ...quickSettings, ...settings },
        workflowBundle: await workflowBundle(),
      });
      const running = worker.run();
      return async () => {
        worker.stop();
        await running;
      };
    },
    close: async () => {
      await native.close();
      await connection.close();
      await harness.close();
    },
  };
}
