import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { type NativeConnection, Worker, type WorkerDeploymentOptions, type WorkflowBundle } from '@temporalio/worker';
import type { Registry } from 'prom-client';
import { makeEgressDispatcher } from '../../pipelines/runtime/egress/dispatcher.ts';
import type { EgressLimits, EgressPolicy } from '../../pipelines/runtime/egress/policy.ts';
import type { ExchangeLimits } from '../../pipelines/runtime/egress/request.ts';
import { startRepeating } from '../../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import { Notifications } from '../../pipelines/runtime/notifications.ts';
import type { Pool } from '../../pipelines/runtime/postgres.ts';
import { type KeyRing, openSecret } from '../../pipelines/runtime/secrets.ts';
import type { WebhookTarget } from '../../pipelines/webhooks/claim.ts';
import { deliveryWorkflow, makeWake, overdueWebhooks, type Wake, workChannel } from '../../pipelines/webhooks/work.ts';
import { activitySpans } from '../activity-spans.ts';
import { type DeliveryActivities, makeDeliveryActivities } from './activities.ts';
import { defaultSchedule, type RetrySchedule } from './backoff.ts';
import { defaultHealthRule, type HealthRule } from './health.ts';
import { slowQueueName } from './messages.ts';
import { type DeliveryMetrics, makeDeliveryMetrics } from './metrics.ts';
import type { RoundDependencies, RoundLimits } from './round.ts';

/** All limits of delivery in one place. Tests shorten them; an installation may. */
export interface DeliverySettings {
  egress: EgressLimits;
  exchange: ExchangeLimits;
  round: RoundLimits;
  schedule: RetrySchedule;
  health: HealthRule;
  /** Rounds at once of endpoints that answer, and of those that do not. */
  activitySlots: number;
  slowActivitySlots: number;
  sweepEveryMs: number;
  sweepGraceSeconds: number;
  sweepMaxWebhooks: number;
  /** How long a stopping worker waits for its rounds. */
  stopMs: number;
}

const exchangeTimeoutMs = 15_000;

export const defaultDeliverySettings: DeliverySettings = {
  egress: {
    connectTimeoutMs: 5_000,
    // The exchange's own limit covers both; these only keep a forgotten socket from living for ever.
    headersTimeoutMs: exchangeTimeoutMs + 5_000,
    bodyIdleTimeoutMs: exchangeTimeoutMs + 5_000,
    // Customers share hosts (automation services): a low limit would let one slow endpoint take another's sockets. What
    // bounds them is each endpoint's own limit of what may be in flight; kept sockets are used first.
    connectionsPerOrigin: 1_000,
    keepAliveMs: 4_000,
  },
  exchange: { exchangeTimeoutMs, maxBodyBytes: 16_384 },
  round: { claimWindowMs: 14_000, deliveryLeaseMs: 30_000, workLeaseMs: 60_000, lookAgainMs: 500, lingerMs: 3_000 },
  schedule: defaultSchedule,
  health: defaultHealthRule,
  activitySlots: 2_000,
  slowActivitySlots: 500,
  sweepEveryMs: 10_000,
  sweepGraceSeconds: 15,
  sweepMaxWebhooks: 500,
  stopMs: 18_000,
};

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
  /**
   * Which build of the delivery code this is. Given: runs that are open go over to whatever build an operator makes the
   * current one, never back and forth between two during a deploy. Left out: any worker takes any task.
   */
  buildId?: string | undefined;
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

/** The workers of both delivery queues, their outbound sockets and their sweeper. Starts nothing before run(). */
export async function makeDeliveryWorker(
  connection: NativeConnection,
  dependencies: DeliveryWorkerDependencies,
): Promise<DeliveryWorker> {
  const settings = { ...defaultDeliverySettings, ...dependencies.settings };
  const { pool, log, policy } = dependencies;
  const metrics = makeDeliveryMetrics(dependencies.metrics);
  const dispatcher = makeEgressDispatcher(policy, settings.egress);
  const notifications = new Notifications(pool, [workChannel], log);
  const round: RoundDependencies = {
    pool,
    notifications,
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
  const activities = makeDeliveryActivities(round);
  const workers = await makeWorkers(connection, dependencies, settings, activities);
  return {
    run: async () => {
      notifications.start();
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
        await runTogether(workers);
      } finally {
        await stopSweeper();
        await notifications.stop();
        await dispatcher.destroy();
      }
    },
    stop: () => stopAll(workers),
  };
}

async function makeWorkers(
  connection: NativeConnection,
  { namespace, workflowBundle, buildId }: DeliveryWorkerDependencies,
  settings: DeliverySettings,
  activities: DeliveryActivities,
): Promise<Worker[]> {
  const common = {
    connection,
    namespace,
    activities,
    interceptors: { activity: [activitySpans] },
    // Rounds are told at once that the worker stops, and have time for what is in flight.
    shutdownGraceTime: 0,
    shutdownForceTime: settings.stopMs,
    ...(buildId === undefined ? {} : { workerDeploymentOptions: deploymentOf(buildId) }),
  };
  const ordinary = await Worker.create({
    ...common,
    taskQueue: deliveryWorkflow.taskQueue,
    ...(workflowBundle === undefined
      ? { workflowsPath: fileURLToPath(new URL('./workflow.ts', import.meta.url)) }
      : { workflowBundle }),
    // A hanging receiver keeps its round's slot for 15 s and more: many slots, since each costs next to nothing.
    maxConcurrentActivityTaskExecutions: settings.activitySlots,
    maxConcurrentWorkflowTaskExecutions: 100,
    maxCachedWorkflows: 2_000,
  });
  const slow = await Worker.create({
    ...common,
    taskQueue: slowQueueName,
    maxConcurrentActivityTaskExecutions: settings.slowActivitySlots,
  });
  return [ordinary, slow];
}

/** The name under which operators set the current build: `temporal worker deployment set-current-version`. */
export const deliveryDeployment = 'padron-delivery';

function deploymentOf(buildId: string): WorkerDeploymentOptions {
  return {
    version: { deploymentName: deliveryDeployment, buildId },
    useWorkerVersioning: true,
    // A webhook's run may be open for days, and its code replays what earlier builds did (test/replay): it need not stay.
    defaultVersioningBehavior: 'AUTO_UPGRADE',
  };
}

/** Until all have stopped; when one fails, the others stop too. */
async function runTogether(workers: readonly Worker[]): Promise<void> {
  const runs = workers.map((worker) =>
    worker.run().catch((error: unknown) => {
      stopAll(workers);
      throw error;
    }),
  );
  await Promise.allSettled(runs);
  await Promise.all(runs);
}

function stopAll(workers: readonly Worker[]): void {
  // shutdown() throws when it stops already, or never ran.
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}

function openSecrets(ring: KeyRing, target: WebhookTarget): readonly string[] {
  // A webhook is made together with its secret: none at all is a bug, not the customer's failure.
  if (target.secrets.length === 0) throw new Error(`webhook ${target.id} has no secret`);
  return target.secrets.map((secret) => openSecret(ring, target.id, secret));
}

export interface DeliverySweepDependencies {
  pool: Pool;
  wake: Wake;
  log: Logger;
  metrics: DeliveryMetrics;
  /** Overdue by this much: a wake-up that is still on its way is not lost. */
  graceSeconds: number;
  maxWebhooks: number;
}

/** Wakes webhooks whose wake-up, worker or workflow was lost. Several workers may do so at once: a wake-up is harmless. */
async function sweepDeliveries(dependencies: DeliverySweepDependencies): Promise<number> {
  const webhookIds = await overdueWebhooks(dependencies.pool, dependencies);
  if (webhookIds.length === 0) return 0;
  await dependencies.wake(webhookIds);
  dependencies.metrics.swept.inc(webhookIds.length);
  dependencies.log.warn({ webhooks: webhookIds.length }, 'overdue webhooks woken');
  return webhookIds.length;
}

/** Sweeps every `everyMs`; a failed sweep is logged and the next one tries again. Returns the stop. */
function startDeliverySweeper(dependencies: DeliverySweepDependencies, everyMs: number): () => Promise<void> {
  return startRepeating('sweep of webhooks', everyMs, dependencies.log, () => sweepDeliveries(dependencies));
}
