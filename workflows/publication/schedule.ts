import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleHandle,
  ScheduleOverlapPolicy,
  WorkflowIdConflictPolicy,
} from '@temporalio/client';
import { type RegisterName, registerNames } from '../../schemas/registers.ts';
import {
  archivedSignalName,
  publicationQueue,
  publishWorkflowId,
  type ReconcileInput,
  type RegisterInput,
} from './messages.ts';

export interface ScheduleSettings {
  /** When the official sites are asked for new publications, as a cron expression in America/Lima. */
  cron: string;
  /** When the state in ClickHouse is compared with the archive, as a cron expression in America/Lima. */
  reconcileCron: string;
}

export const defaultSchedules: ScheduleSettings = {
  // The daily register's file appears at about 02:40. A probe that finds nothing new costs one request.
  cron: '0,30 3-8 * * *',
  // The daily check comes after the morning's editions. It reads every register as a whole.
  reconcileCron: '0 13 * * *',
};
const timezone = 'America/Lima';
/** If a scheduled run was missed because Temporal was down, it starts later within this time. */
const catchupWindow = '12 hours';
export const reconcileId = 'reconcile';
/** What a schedule starts: the fetch of a register, or the daily check of all registers. */
export type Scheduled = RegisterName | typeof reconcileId;

/** Makes the schedule if it is missing, also after Temporal lost its data. It can be called again at any time. */
export async function ensureSchedule(
  client: Client,
  scheduled: Scheduled,
  settings: ScheduleSettings,
): Promise<ScheduleHandle> {
  const scheduleId = scheduled === reconcileId ? reconcileId : `register/${scheduled}`;
  try {
    return await client.schedule.create({ scheduleId, ...optionsOf(scheduled, settings) });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    return client.schedule.getHandle(scheduleId);
  }
}

/** Gives all schedules these settings, and makes missing ones. A schedule that an operator has paused stays paused. */
export async function updateSchedules(client: Client, settings: ScheduleSettings): Promise<void> {
  for (const scheduled of [...registerNames, reconcileId] as const) {
    const handle = await ensureSchedule(client, scheduled, settings);
    await handle.update((previous) => ({ ...previous, ...optionsOf(scheduled, settings) }));
  }
}

function optionsOf(scheduled: Scheduled, { cron, reconcileCron }: ScheduleSettings) {
  const isCheck = scheduled === reconcileId;
  const input: ReconcileInput | RegisterInput = isCheck ? { registers: registerNames } : { register: scheduled };
  return {
    spec: { cronExpressions: [isCheck ? reconcileCron : cron], timezone },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow, pauseOnFailure: false },
    action: {
      type: 'startWorkflow' as const,
      workflowType: isCheck ? 'reconcile' : 'fetch',
      // Temporal appends the time to this id, so a run is called `fetch/<register>-<time>`.
      workflowId: isCheck ? reconcileId : `fetch/${scheduled}`,
      taskQueue: publicationQueue,
      args: [input],
    },
  };
}

/**
 * What became of an order to fetch or to verify. `queued`: a run is under way, and another one starts after it.
 * `paused`: somebody paused the schedule on Temporal's page, so nothing starts.
 */
export type OrderedRun = 'started' | 'queued' | 'paused';

/** Fetches a register now, or compares all registers with the archive, without waiting for the run's start. */
export async function orderRun(client: Client, scheduled: Scheduled): Promise<OrderedRun> {
  const schedule = await ensureSchedule(client, scheduled, defaultSchedules);
  const { state, info } = await schedule.describe();
  if (state.paused) return 'paused';
  await schedule.trigger(ScheduleOverlapPolicy.BUFFER_ONE);
  return info.runningActions.length === 0 ? 'started' : 'queued';
}

/** One run of `fetch` that the schedule started. */
export interface ScheduledRun {
  workflowId: string;
  runId: string;
}

/**
 * Triggers a fetch through the schedule and returns its run. If a fetch is running, the new fetch starts after it. The
 * running fetch may have asked the site before the expected file was published.
 */
export async function triggerFetch(handle: ScheduleHandle, timeoutMs: number): Promise<ScheduledRun> {
  const before = new Set((await handle.describe()).info.recentActions.map(runOf));
  await handle.trigger(ScheduleOverlapPolicy.BUFFER_ONE);
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const actions = (await handle.describe()).info.recentActions;
    const started = actions.find((action) => !before.has(runOf(action)));
    if (started?.action.type === 'startWorkflow') {
      const { workflowId, firstExecutionRunId } = started.action.workflow;
      return { workflowId, runId: firstExecutionRunId };
    }
    if (Date.now() > deadline) throw new Error('the schedule did not start a run: is Temporal well?');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function runOf(action: { action: { workflow: { firstExecutionRunId: string } } }): string {
  return action.action.workflow.firstExecutionRunId;
}

/** Starts the workflow `publish`, or signals a running one to look for more work. */
export async function wakePublish(client: Client, register: RegisterName): Promise<void> {
  await client.workflow.signalWithStart('publish', { ...publishOf(register), signal: archivedSignalName });
}

/** Starts the workflow `publish` unless it runs already. A running workflow finds all open work by itself. */
export async function startPublish(client: Client, register: RegisterName): Promise<void> {
  const { USE_EXISTING } = WorkflowIdConflictPolicy;
  await client.workflow.start('publish', { ...publishOf(register), workflowIdConflictPolicy: USE_EXISTING });
}

function publishOf(register: RegisterName) {
  const input: RegisterInput = { register };
  return { workflowId: publishWorkflowId(register), taskQueue: publicationQueue, args: [input] };
}
