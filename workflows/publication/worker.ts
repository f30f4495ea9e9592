import { type NativeConnection, Worker, type WorkflowBundle } from '@temporalio/worker';
import type { Registry } from 'prom-client';
import { differenceProgram, runInChild } from '../../pipelines/diff/child.ts';
import { compareLimits } from '../../pipelines/diff/types.ts';
import { EditionArchive } from '../../pipelines/editions/edition-archive.ts';
import { changeFilesFromLastFull, findEdition } from '../../pipelines/editions/editions.ts';
import { registerModules } from '../../pipelines/registers/modules.ts';
import { verifyInChild } from '../../pipelines/replay/child.ts';
import { planVerification } from '../../pipelines/replay/plan.ts';
import type { VerifyReport } from '../../pipelines/replay/types.ts';
import { recordHeld } from '../../pipelines/replicas/catalogue.ts';
import type { Holding } from '../../pipelines/replicas/holding.ts';
import type { ClickHouseClient, ClickhouseTarget } from '../../pipelines/runtime/clickhouse.ts';
import { inOwnProcess, KeptProcess } from '../../pipelines/runtime/job-process.ts';
import { defaultReplica } from '../../pipelines/runtime/replica-settings.ts';
import { compareCatalogue } from '../../pipelines/stream/catalogue-check.ts';
import {
  produceEdition,
  type ProduceDependencies as StreamDependencies,
  takeProduced,
} from '../../pipelines/stream/produce.ts';
import { producerProgram } from '../../pipelines/stream/producer/job.ts';
import { checkMaterialised, editionsToRepublish, groupPassed } from '../../pipelines/stream/progress.ts';
import { watchGroup } from '../../pipelines/stream/topics.ts';
import { padronReducido, type RegisterName } from '../../schemas/registers.ts';
import { activitySpans } from '../activity-spans.ts';
import { makePublicationActivities, type PublicationDependencies } from './activities.ts';
import { CatalogueGuard } from './catalogue-guard.ts';
import { gatesByRegister } from './gate-settings.ts';
import { publicationQueue } from './messages.ts';
import { makePublicationMetrics } from './metrics.ts';
import { type ScheduleSettings, updateSchedules } from './schedule.ts';
import { startSweeper } from './sweeper.ts';

export interface PublicationWorkerOptions {
  namespace: string;
  workflowBundle: WorkflowBundle;
  schedule: ScheduleSettings;
  sweepEveryMs: number;
  /** How long a stopping worker waits for a step before it cancels the step and kills its child. */
  graceMs: number;
  /** How long cancelled steps may take to end. */
  stopMs: number;
}

export type PublicationWorker = Awaited<ReturnType<typeof makePublicationWorker>>;

/**
 * Number of steps that may run at once. Each workflow runs one step at a time. On a morning on which all registers are
 * published, `fetch` and `publish` run for each of the 7 registers beside the daily check: 2 × 7 + 1 = 15 steps.
 */
const activitySlots = 20;

/** Makes the worker of the queue `publication`, with its schedules and its sweeper. Nothing starts before run(). */
export async function makePublicationWorker(
  connection: NativeConnection,
  engines: PublicationEngines,
  options: PublicationWorkerOptions,
) {
  const dependencies = makePublicationDependencies(engines);
  const worker = await Worker.create({
    connection,
    namespace: options.namespace,
    taskQueue: publicationQueue,
    workflowBundle: options.workflowBundle,
    activities: makePublicationActivities(dependencies),
    interceptors: { activity: [activitySpans] },
    maxConcurrentActivityTaskExecutions: activitySlots,
    maxConcurrentWorkflowTaskExecutions: 10,
    maxCachedWorkflows: 50,
    // Heartbeats are sent this often because an operator who follows a publication sees its progress through them.
    maxHeartbeatThrottleInterval: '2 seconds',
    defaultHeartbeatThrottleInterval: '2 seconds',
    shutdownGraceTime: options.graceMs,
    shutdownForceTime: options.graceMs + options.stopMs,
  });
  let stopping = false;
  return {
    /** Temporal's own workers, whose connection can be replaced. */
    workers: [worker],
    /** Works until stop() is called. Rejects if the worker fails. */
    async run(): Promise<void> {
      await updateSchedules(dependencies.client, options.schedule);
      // The guard compares the catalogue with Kafka and ClickHouse. It may have to read a long topic, but the worker
      // need not wait for it: `guard.freeze` compares again before it makes an edition.
      void dependencies.guard.start();
      const stopSweeper = startSweeper({ ...dependencies, schedule: options.schedule }, options.sweepEveryMs);
      try {
        const running = worker.run();
        // stop() may have been called while the schedules were updated. The worker can be shut down only once it runs.
        if (stopping) worker.shutdown();
        await running;
      } finally {
        await stopSweeper();
      }
    },
    stop(): void {
      stopping = true;
      // shutdown() throws when the worker is already stopping or does not run yet.
      if (worker.getState() === 'RUNNING') worker.shutdown();
    },
    isRunning: () => worker.getState() === 'RUNNING',
    /** Why some registers must not make editions now (`CatalogueGuard`); null if all may make them. */
    problem: () => dependencies.guard.problem(),
  };
}

export type PublicationSettings = Pick<
  PublicationDependencies,
  'downloadLimits' | 'gates' | 'waits' | 'heartbeats' | 'publicationDays'
>;

export const defaultPublicationSettings: PublicationSettings = {
  downloadLimits: {
    // The largest file today has 0.4 GB.
    maxBytes: 4 * 2 ** 30,
    stallTimeoutMs: 60_000,
    maxFailuresWithoutProgress: 8,
    progressBytes: 256 * 1024,
    firstPauseMs: 1_000,
    maxPauseMs: 60_000,
    reserveBytes: 2 ** 30,
    reportEveryMs: 2_000,
  },
  gates: gatesByRegister,
  waits: { pollEveryMs: 200, waitAtMostMs: 60_000 },
  // Writing the index of a large register (pipelines/diff/large) to a busy disk shows no progress for minutes, so
  // `maxStallMs` is generous.
  heartbeats: { heartbeatEveryMs: 3_000, maxStallMs: 15 * 60 * 1000 },
  publicationDays: null,
};

export interface PublicationEngines
  extends Pick<PublicationDependencies, 'client' | 'archive' | 'workDir' | 'access' | 'sources' | 'log'> {
  stream: StreamDependencies;
  /** The only ClickHouse server, or the first replica. */
  clickhouse: ClickHouseClient;
  /** Only with several ClickHouse replicas. */
  holding?: Holding;
  /** The child process that verifies a register opens its own connection to this address. */
  clickhouseTarget: ClickhouseTarget;
  metrics: Registry;
  settings: PublicationSettings;
}

/**
 * Small jobs share two child processes (`KeptProcess` in job-process.ts). A process ends after this time without a job.
 * The pause between two registers of a morning is shorter, so the next register finds the processes running.
 */
const keptIdleMs = 30_000;
/**
 * An edition with more changes than this is produced by a process of its own, so that no other edition waits for it. The
 * daily register changes some 28,000 rows a day, which takes a second.
 */
const maxSharedChanges = 200_000;

/**
 * Differences of all registers but the daily one leave the CPU to others when the machine is busy. Most questions and
 * all changes of status are about the daily register, whose edition would otherwise wait for lists and the monthly file.
 */
const niceDifferences = { ...differenceProgram, niceness: 10 };

interface WorkerDependencies extends PublicationDependencies {
  guard: CatalogueGuard;
}

/** Makes the dependencies of the steps from the clients of PostgreSQL, Kafka and ClickHouse, and from the archive. */
function makePublicationDependencies(engines: PublicationEngines): WorkerDependencies {
  const { stream, clickhouse, clickhouseTarget, holding, archive, workDir, settings } = engines;
  const { pool, prefix } = stream;
  const servers = async () =>
    (await holding?.serving()) ?? [{ name: defaultReplica, clickhouse, target: clickhouseTarget }];
  const read = new Map();
  const guard = new CatalogueGuard({
    ...{ pool, log: engines.log, metrics: engines.metrics, editions: new EditionArchive(stream.archiveUrl) },
    async compare(register, scope) {
      const asked = (await servers()).map(({ name, clickhouse: server }) => ({
        clickhouse: server,
        replica: holding && name,
      }));
      return await compareCatalogue({ ...stream, servers: asked, read }, register, scope);
    },
  });
  const processes = {
    differences: new KeptProcess(niceDifferences, keptIdleMs),
    producer: new KeptProcess(producerProgram, keptIdleMs),
  };
  /** Small registers share one process, one job at a time. A large register's job gets a process of its own. */
  const runOf = (register: RegisterName) => {
    if (registerModules[register].format.size === 'small') return processes.differences.run;
    return inOwnProcess(register === padronReducido.name ? differenceProgram : niceDifferences);
  };
  return {
    ...engines,
    ...settings,
    pool,
    guard,
    zipLimits: { maxTextBytes: compareLimits.maxTextBytes, maxEntries: compareLimits.maxEntries },
    observe: makePublicationMetrics(engines.metrics, pool),
    editionsToRepublish: (register) => editionsToRepublish(stream, register),
    compare: (input, report, signal) => runInChild('compare', input, report, signal, runOf(input.register)),
    correct: (input, report, signal) => runInChild('correct', input, report, signal, runOf(input.register)),
    async rebuildIndex(register, edition, report, signal) {
      const changeFiles = await localChangeFiles(engines, register, edition);
      await runInChild('rebuild', { register, workDir, changeFiles }, report, signal, runOf(register));
    },
    async produce({ register, edition, mode, acknowledged }, report, signal) {
      const { change_file_sha256: sha256, changes } = (await findEdition(pool, register, edition))!;
      const changeFile = await archive.localFile({ register, kind: 'changes', sha256 });
      if (mode === 'once' && (await takeProduced(stream, { register, edition, changeFile }))) return;
      const again = mode === 'again';
      const input = {
        register,
        edition,
        changeFile,
        again,
        ...(acknowledged && { acknowledged }),
        ...(changes <= maxSharedChanges && { run: processes.producer.run }),
      };
      await produceEdition(stream, input, report, signal);
    },
    async isMaterialised(register, edition) {
      if (holding !== undefined) return await holding.isMaterialised(register, edition);
      if ((await checkMaterialised({ ...stream, clickhouse }, register, edition)) === 'not_yet') return false;
      // Read only after the operator has added replicas. If the process dies before, the repeat records it.
      await recordHeld(pool, { name: defaultReplica, store: null }, register, edition);
      return true;
    },
    isNotified: (register, edition) => groupPassed(stream, watchGroup(prefix), register, edition),
    async verify(register, report, signal) {
      let found: VerifyReport | null = null;
      for (const { name, target } of await servers()) {
        const plan = await planVerification({ pool, archive, clickhouseTarget: target, workDir }, register);
        if (plan.kind !== 'ready') return null;
        found = await verifyInChild(plan.input, report, signal);
        if (found.equal) continue;
        if (holding !== undefined) engines.log.error({ register, replica: name }, 'this replica differs');
        break;
      }
      return found;
    },
  };
}

/** Returns local copies of the change files from which an edition's state is built, oldest first. */
async function localChangeFiles({ stream, archive }: PublicationEngines, register: RegisterName, last: number) {
  const editions = await changeFilesFromLastFull(stream.pool, register, last);
  return await Promise.all(
    editions.map(async ({ edition, sha256 }) => ({
      edition,
      sha256,
      path: await archive.localFile({ register, kind: 'changes', sha256 }),
    })),
  );
}
