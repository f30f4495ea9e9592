import { fileURLToPath } from 'node:url';
import { type NativeConnection, Worker, type WorkflowBundle } from '@temporalio/worker';
import { makePublicationActivities } from './activities.ts';
import { publicationQueue } from './messages.ts';
import { makePublicationParts, type PublicationDependencies } from './parts.ts';
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
