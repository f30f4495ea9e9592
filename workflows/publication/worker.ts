import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { type NativeConnection, Worker, type WorkflowBundle } from '@temporalio/worker';
import type { Registry } from 'prom-client';
import type { Archive } from '../../pipelines/archive/archive.ts';
import { compareInChild, correctInChild, differenceProgram, rebuildInChild } from '../../pipelines/diff/child.ts';
import { compareLimits } from '../../pipelines/diff/types.ts';
import { changeFilesFromLastFull, findEdition } from '../../pipelines/editions/editions.ts';
import type { DownloadLimits } from '../../pipelines/registers/download.ts';
import { registerModules } from '../../pipelines/registers/modules.ts';
import type { Sources } from '../../pipelines/registers/settings.ts';
import type { SiteAccess } from '../../pipelines/registers/site.ts';
import { verifyInChild } from '../../pipelines/replay/child.ts';
import { planVerification } from '../../pipelines/replay/plan.ts';
import type { ClickHouseClient } from '../../pipelines/runtime/clickhouse.ts';
import { KeptProcess } from '../../pipelines/runtime/job-process.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';
import type { Tracing } from '../../pipelines/runtime/tracing/tracing.ts';
import { produceEdition, type ProduceDependencies as StreamDependencies } from '../../pipelines/stream/produce.ts';
import { producerProgram } from '../../pipelines/stream/producer/job.ts';
import { checkMaterialised, editionsToRepublish, groupPassed } from '../../pipelines/stream/progress.ts';
import { watchGroup } from '../../pipelines/stream/topics.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { type BeatLimits, defaultBeatLimits, makePublicationActivities, type PublicationParts } from './activities.ts';
import { type GateSettings, gatesByRegister } from './gate-settings.ts';
import { publicationQueue } from './messages.ts';
import { makePublicationMetrics } from './metrics.ts';
import { type ScheduleSettings, updateSchedules } from './schedule.ts';
import { startSweeper } from './sweeper.ts';

export interface PublicationWorkerOptions {
  namespace: string;
  /** Made once for all queues (workflows/bundle.ts); left out, the worker makes its own. */
  workflowBundle?: WorkflowBundle;
  schedule: ScheduleSettings;
  sweepEveryMs: number;
  /** How long a stopping worker lets a step go on before it is cancelled and its child killed. */
  graceMs: number;
  /** How long cancelled steps may take to end. */
  stopMs: number;
}

export interface PublicationWorker {
  /** Works until stop() is called or the worker fails; rejects when it fails. */
  run(): Promise<void>;
  stop(): void;
  isRunning(): boolean;
}

/**
 * Steps at once: two workflows for each of seven registers and the daily check, each with one step at a time. Waits cost
 * nothing; all registers at once are a morning on which all are published.
 */
const activitySlots = 20;

/** The worker of the queue `publication`, its schedules and its sweeper. Starts nothing before run(). */
export async function makePublicationWorker(
  connection: NativeConnection,
  dependencies: PublicationDependencies,
  options: PublicationWorkerOptions,
): Promise<PublicationWorker> {
  const parts = makePublicationParts(dependencies);
  const worker = await Worker.create({
    connection,
    namespace: options.namespace,
    taskQueue: publicationQueue,
    ...(options.workflowBundle === undefined
      ? { workflowsPath: fileURLToPath(new URL('./workflow.ts', import.meta.url)) }
      : { workflowBundle: options.workflowBundle }),
    activities: makePublicationActivities(parts),
    maxConcurrentActivityTaskExecutions: activitySlots,
    maxConcurrentWorkflowTaskExecutions: 10,
    maxCachedWorkflows: 50,
    // An operator who follows a publication sees its progress in the heartbeats.
    maxHeartbeatThrottleInterval: '2 seconds',
    defaultHeartbeatThrottleInterval: '2 seconds',
    shutdownGraceTime: options.graceMs,
    shutdownForceTime: options.graceMs + options.stopMs,
  });
  let stopping = false;
  return {
    async run() {
      await updateSchedules(parts.client, options.schedule);
      const stopSweeper = startSweeper({ ...parts, schedule: options.schedule }, options.sweepEveryMs);
      try {
        const running = worker.run();
        // Told to stop while the schedule was looked after: a worker can be stopped only once it runs.
        if (stopping) worker.shutdown();
        await running;
      } finally {
        await stopSweeper();
      }
    },
    stop() {
      stopping = true;
      // Throws when it stops already, or does not run yet.
      if (worker.getState() === 'RUNNING') worker.shutdown();
    },
    isRunning: () => worker.getState() === 'RUNNING',
  };
}

export interface PublicationSettings {
  downloadLimits: DownloadLimits;
  gates: Readonly<Record<RegisterName, GateSettings>>;
  /** Until an edition is materialised and notified. */
  waits: { pollEveryMs: number; waitAtMostMs: number };
  beats: BeatLimits;
  /** Raw publications older than this many days go from the archive; null: never. */
  publicationDays: number | null;
}

export const defaultPublicationSettings: PublicationSettings = {
  downloadLimits: {
    // The file of today is 0.4 GB.
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
  beats: defaultBeatLimits,
  publicationDays: null,
};

export interface PublicationDependencies {
  stream: StreamDependencies;
  clickhouse: ClickHouseClient;
  client: Client;
  archive: Archive;
  /** For the child process that verifies; it opens its own connection. */
  clickhouseUrl: string;
  workDir: string;
  access: SiteAccess;
  sources: Sources;
  log: Logger;
  /** Left out: none. */
  tracing?: Tracing;
  metrics: Registry;
  settings: PublicationSettings;
}

/** Longer than between the registers of a morning; then the memory is given back. */
const keptIdleMs = 30_000;

/** The steps' ports, joined to the real engines. */
function makePublicationParts(dependencies: PublicationDependencies): PublicationParts {
  const { stream, clickhouse, clickhouseUrl, archive, workDir, settings } = dependencies;
  const { pool, prefix } = stream;
  const processes = {
    differences: new KeptProcess(differenceProgram, keptIdleMs),
    producer: new KeptProcess(producerProgram, keptIdleMs),
  };
  /** Small registers take turns in these; each edition of a large one has processes of its own. */
  const kept = (register: RegisterName) => (registerModules[register].format.size === 'small' ? processes : undefined);
  return {
    ...dependencies,
    ...settings,
    pool,
    zipLimits: { maxTextBytes: compareLimits.maxTextBytes, maxEntries: compareLimits.maxEntries },
    observe: makePublicationMetrics(dependencies.metrics, pool).observe,
    editionsToRepublish: (register) => editionsToRepublish(stream, register),
    compare: (input, report, signal) => compareInChild(input, report, signal, kept(input.register)?.differences.run),
    correct: (input, report, signal) => correctInChild(input, report, signal, kept(input.register)?.differences.run),
    async rebuildIndex(register, edition, report, signal) {
      const changeFiles = await localChangeFiles(dependencies, register, edition);
      const { maxAttemptAgeMs } = compareLimits;
      const input = { register, workDir, changeFiles, maxAttemptAgeMs };
      await rebuildInChild(input, report, signal, kept(register)?.differences.run);
    },
    async produce({ register, edition, mode, acknowledged }, report, signal) {
      const row = await findEdition(pool, register, edition);
      const sha256 = row!.change_file_sha256;
      const changeFile = await archive.localFile({ register, kind: 'changes', sha256 });
      const again = mode === 'again';
      const run = kept(register)?.producer.run;
      const input = {
        register,
        edition,
        changeFile,
        again,
        ...(acknowledged && { acknowledged }),
        ...(run && { run }),
      };
      await produceEdition(stream, input, report, signal);
    },
    isMaterialised: async (register, edition) =>
      (await checkMaterialised({ ...stream, clickhouse }, register, edition)) === 'materialised',
    isNotified: (register, edition) => groupPassed(stream, watchGroup(prefix), register, edition),
    async verify(register, report, signal) {
      const plan = await planVerification({ pool, archive, clickhouseUrl, workDir }, register);
      return plan.kind === 'ready' ? await verifyInChild(plan.input, report, signal) : null;
    },
  };
}

/** The change files that an edition's state is folded from, as local files, oldest first. */
async function localChangeFiles({ stream, archive }: PublicationDependencies, register: RegisterName, last: number) {
  const editions = await changeFilesFromLastFull(stream.pool, register, last);
  return await Promise.all(
    editions.map(async ({ edition, sha256 }) => ({
      edition,
      sha256,
      path: await archive.localFile({ register, kind: 'changes', sha256 }),
    })),
  );
}
