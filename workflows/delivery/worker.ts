import type { Client } from '@temporalio/client';
import { type NativeConnection, Worker, type WorkerDeploymentOptions, type WorkflowBundle } from '@temporalio/worker';
import type { Registry } from 'prom-client';
import { makeEgressDispatcher } from '../../pipelines/runtime/egress/dispatcher.ts';
import type { ExchangeLimits } from '../../pipelines/runtime/egress/exchange.ts';
import type { EgressLimits, EgressPolicy } from '../../pipelines/runtime/egress/policy.ts';
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

/** All limits of delivery in one place. Tests shorten them. */
export interface DeliverySettings {
  egress: EgressLimits;
  exchange: ExchangeLimits;
  round: RoundLimits;
  schedule: RetrySchedule;
  health: HealthRule;
  /** Number of rounds that run at once on the ordinary queue. `slowActivitySlots` is the number for the slow queue. */
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
    // These two limits only close sockets that a fault left open. They are longer than `exchangeTimeoutMs`, which ends
    // every exchange (a request with its answer).
    headersTimeoutMs: exchangeTimeoutMs + 5_000,
    bodyIdleTimeoutMs: exchangeTimeoutMs + 5_000,
    // Endpoints of several customers may share a host, such as an automation service. With a low limit, one slow
    // endpoint would take the sockets of another. Each endpoint's in-flight limit already bounds its own sockets.
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

interface DeliveryWorkerDependencies {
  pool: Pool;
  /** The client with which the sweeper wakes workflows. */
  client: Client;
  namespace: string;
  keyRing: KeyRing;
  policy: EgressPolicy;
  /** The release's version, which is sent in the User-Agent header. */
  version: string;
  log: Logger;
  metrics: Registry;
  /**
   * The build of the delivery code. If given, open workflow runs move to the build that an operator makes current. If
   * left out, any worker takes any task, and a run may switch between two builds during a deploy.
   */
  buildId?: string | undefined;
  settings?: Partial<DeliverySettings>;
  workflowBundle: WorkflowBundle;
}

/** Makes the workers of both delivery queues, with their dispatcher and sweeper. Nothing starts before run(). */
export async function makeDeliveryWorker(connection: NativeConnection, dependencies: DeliveryWorkerDependencies) {
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
    /** Temporal's own workers, whose connection can be replaced. */
    workers,
    /** Works until stop() is called. Rejects if a worker fails. */
    run: async (): Promise<void> => {
      notifications.start();
      const wake = makeWake(dependencies.client, { inParallel: 10, deadlineMs: 10_000 });
      const stopSweeper = startRepeating('sweep of webhooks', settings.sweepEveryMs, log, () =>
        sweepDeliveries({ pool, wake, log, metrics }, settings),
      );
      try {
        await runTogether(workers);
      } finally {
        await stopSweeper();
        await notifications.stop();
        await dispatcher.destroy();
      }
    },
    /** Takes no new rounds. Running rounds claim no more and record their attempts in flight. Then run() resolves. */
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
    // With 0, a stop cancels the rounds at once, so they have all of `stopMs` to record their attempts in flight.
    shutdownGraceTime: 0,
    shutdownForceTime: settings.stopMs,
    ...(buildId === undefined ? {} : { workerDeploymentOptions: deploymentOf(buildId) }),
  };
  const ordinary = await Worker.create({
    ...common,
    taskQueue: deliveryWorkflow.taskQueue,
    workflowBundle,
    // If a receiver does not answer, its round keeps a slot for 15 s or more. There are many slots, because a slot
    // costs almost nothing.
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

/** Name under which operators set the current build (`temporal worker deployment set-current-version`). */
export const deliveryDeployment = 'padron-delivery';

function deploymentOf(buildId: string): WorkerDeploymentOptions {
  return {
    version: { deploymentName: deliveryDeployment, buildId },
    useWorkerVersioning: true,
    // A webhook's workflow run may be open for days, so the run moves to the new build. The new build must be able to
    // replay the history that the old build wrote (test/replay).
    defaultVersioningBehavior: 'AUTO_UPGRADE',
  };
}

/** Resolves when all workers have stopped. If one fails, the others are stopped too. */
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
  // shutdown() throws if the worker is stopping or was never started.
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}

function openSecrets(ring: KeyRing, target: WebhookTarget): readonly string[] {
  // A webhook and its secret are made in one transaction, so a missing secret is a bug in this service.
  if (target.secrets.length === 0) throw new Error(`webhook ${target.id} has no secret`);
  return target.secrets.map((secret) => openSecret(ring, target.id, secret));
}

/**
 * Wakes webhooks whose wake-up, worker or workflow was lost. Work counts only when it is overdue by
 * `sweepGraceSeconds`, because a wake-up may still be on the way. Several workers may sweep at once, because one more
 * wake-up does no harm.
 */
async function sweepDeliveries(
  { pool, wake, log, metrics }: { pool: Pool; wake: Wake; log: Logger; metrics: DeliveryMetrics },
  { sweepGraceSeconds, sweepMaxWebhooks }: DeliverySettings,
): Promise<void> {
  const webhookIds = await overdueWebhooks(pool, { graceSeconds: sweepGraceSeconds, maxWebhooks: sweepMaxWebhooks });
  if (webhookIds.length === 0) return;
  await wake(webhookIds);
  metrics.swept.inc(webhookIds.length);
  log.warn({ webhooks: webhookIds.length }, 'overdue webhooks woken');
}
