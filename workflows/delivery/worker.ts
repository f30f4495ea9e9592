import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { type NativeConnection, Worker, type WorkflowBundle } from '@temporalio/worker';
import type { Registry } from 'prom-client';
import { makeEgressDispatcher } from '../../deploy/runtime/egress/dispatcher.ts';
import type { EgressPolicy } from '../../deploy/runtime/egress/policy.ts';
import type { Logger } from '../../deploy/runtime/log.ts';
import type { Pool } from '../../deploy/runtime/postgres.ts';
import { type KeyRing, openSecret } from '../../deploy/runtime/secrets.ts';
import type { WebhookTarget } from '../../pipelines/watch/claim.ts';
import { deliveryWorkflow, makeWake } from '../../pipelines/watch/wake.ts';
import { makeDeliveryActivities } from './activities.ts';
import { makeDeliveryMetrics } from './metrics.ts';
import type { RoundDependencies } from './round.ts';
import { type DeliverySettings, defaultDeliverySettings } from './settings.ts';
import { startDeliverySweeper } from './sweeper.ts';

export interface DeliveryWorkerDependencies {
  pool: Pool;
  /** For the sweeper's wake-ups. */
  client: Client;
  namespace: string;
  keyRing: KeyRing;
  policy: EgressPolicy;
  /** Of this release, for User-Agent. */
  version: string;
  log: Logger;
  metrics: Registry;
  settings?: Partial<DeliverySettings>;
  /** Made once for all queues (workflows/bundle.ts); left out, the worker makes its own. */
  workflowBundle?: WorkflowBundle;
}

export interface DeliveryWorker {
  /** Works until stop() is called or the worker fails; rejects when it fails. */
  run: () => Promise<void>;
  /** Ends polling; rounds under way stop claiming and record what is in flight. run() resolves after that. */
  stop: () => void;
}

/** The worker of the queue `delivery`, its outbound sockets and its sweeper. Starts nothing before run(). */
export async function makeDeliveryWorker(
  connection: NativeConnection,
  dependencies: DeliveryWorkerDependencies,
): Promise<DeliveryWorker> {
  const settings = { ...defaultDeliverySettings, ...dependencies.settings };
  const { pool, log, policy } = dependencies;
  const metrics = makeDeliveryMetrics(dependencies.metrics);
  const dispatcher = makeEgressDispatcher(policy, settings.egress);
  const round: RoundDependencies = {
    pool,
    attempt: {
      dispatcher,
      policy,
      limits: settings.exchange,
      schedule: settings.schedule,
      version: dependencies.version,
    },
    openSecrets: (target) => openSecrets(dependencies.keyRing, target),
    rule: settings.health,
    limits: settings.round,
    log,
    metrics,
  };
  const worker = await Worker.create({
    connection,
    namespace: dependencies.namespace,
    taskQueue: deliveryWorkflow.taskQueue,
    ...(dependencies.workflowBundle === undefined
      ? { workflowsPath: fileURLToPath(new URL('./workflow.ts', import.meta.url)) }
      : { workflowBundle: dependencies.workflowBundle }),
    activities: makeDeliveryActivities(round),
    // A hanging receiver keeps its round's slot for 15 s and more: many slots, since each costs next to nothing.
    maxConcurrentActivityTaskExecutions: settings.activitySlots,
    maxConcurrentWorkflowTaskExecutions: 100,
    maxCachedWorkflows: 2_000,
    // Rounds are told at once that the worker stops, and have time for what is in flight.
    shutdownGraceTime: 0,
    shutdownForceTime: settings.stopMs,
  });
  return {
    run: async () => {
      const sweep = {
        pool,
        wake: makeWake(dependencies.client, { inParallel: 10, deadlineMs: 10_000 }),
        log,
        metrics,
        graceSeconds: settings.sweepGraceSeconds,
        maxWebhooks: settings.sweepMaxWebhooks,
      };
      const stopSweeper = startDeliverySweeper(sweep, settings.sweepEveryMs);
      try {
        await worker.run();
      } finally {
        await stopSweeper();
        await dispatcher.destroy();
      }
    },
    stop: () => {
      // Throws when it stops already, or never ran.
      if (worker.getState() === 'RUNNING') worker.shutdown();
    },
  };
}

function openSecrets(ring: KeyRing, target: WebhookTarget): readonly string[] {
  // A webhook is made together with its secret: none at all is a bug, not the customer's failure.
  if (target.secrets.length === 0) throw new Error(`webhook ${target.id} has no secret`);
  return target.secrets.map((secret) => openSecret(ring, target.id, secret));
}
