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
  fetchWorkflowId,
  publicationQueue,
  publishWorkflowId,
  type ReconcileInput,
  type RegisterInput,
  reconcileId,
  scheduleId,
} from './messages.ts';

export interface ScheduleSettings {
  /** When the official sites are asked for new publications, as a cron expression in America/Lima. */
  cron: string;
  /** When the state in ClickHouse is compared with the archive, as a cron expression in America/Lima. */
  reconcileCron: string;
}

/** The daily register's file appears at about 02:40. A probe that finds nothing new costs one request. */
export const defaultFetchCron = '0,30 3-8 * * *';
/** The daily check comes after the morning's editions. It reads each register once. */
export const defaultReconcileCron = '0 13 * * *';
const timezone = 'America/Lima';
/** If a scheduled run was missed because Temporal was down, it starts later within this time. */
const catchupWindow = '12 hours';

/**
 * Makes the register's schedule if it is missing, also after Temporal lost its data. It can be called again at any
 * time. The server appends the time to the workflow's id: `fetch/<register>-<time>`.
 */
export function ensureSchedule(
  client: Client,
  register: RegisterName,
  settings: { cron: string },
): Promise<ScheduleHandle> {
  return ensure(client, scheduleId(register), fetchOptions(register, settings.cron));
}

/** Makes the schedule of the daily check if it is missing. */
export function ensureReconcileSchedule(client: Client, settings: ScheduleSettings): Promise<ScheduleHandle> {
  return ensure(client, reconcileId, reconcileOptions(settings.reconcileCron));
}

/** Gives all schedules these settings, and makes missing ones. A schedule that an operator has paused stays paused. */
export async function updateSchedules(client: Client, settings: ScheduleSettings): Promise<void> {
  for (const register of registerNames) {
    const handle = await ensureSchedule(client, register, settings);
    await handle.update((previous) => ({ ...previous, ...fetchOptions(register, settings.cron) }));
  }
  const handle = await ensureReconcileSchedule(client, settings);
  await handle.update((previous) => ({ ...previous, ...reconcileOptions(settings.reconcileCron) }));
}

async function ensure(client: Client, id: string, options: ReturnType<typeof optionsOf>): Promise<ScheduleHandle> {
  try {
    return await client.schedule.create({ scheduleId: id, ...options });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    return client.schedule.getHandle(id);
  }
}

function fetchOptions(register: RegisterName, cron: string) {
  const input: RegisterInput = { register };
  return optionsOf(cron, 'fetch', fetchWorkflowId(register), input);
}

function reconcileOptions(cron: string) {
  const input: ReconcileInput = { registers: registerNames };
  return optionsOf(cron, 'reconcile', reconcileId, input);
}

function optionsOf<Input>(cron: string, workflowType: string, workflowId: string, input: Input) {
  return {
    spec: { cronExpressions: [cron], timezone },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow, pauseOnFailure: false },
    action: { type: 'startWorkflow' as const, workflowType, workflowId, taskQueue: publicationQueue, args: [input] },
  };
}

/** One run of `fetch` that the schedule started. */
export interface ScheduledRun {
  workflowId: string;
  runId: string;
}

/**
 * Triggers a fetch through the schedule and returns its run. If a fetch is already running, the new fetch starts after
 * it, because the running fetch may have asked the site before the caller's file was there.
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
  const input: RegisterInput = { register };
  await client.workflow.signalWithStart('publish', {
    workflowId: publishWorkflowId(register),
    taskQueue: publicationQueue,
    args: [input],
    signal: archivedSignalName,
  });
}

/** Starts the workflow `publish` unless it runs already. A running workflow finds all open work by itself. */
export async function startPublish(client: Client, register: RegisterName): Promise<void> {
  const input: RegisterInput = { register };
  await client.workflow.start('publish', {
    workflowId: publishWorkflowId(register),
    taskQueue: publicationQueue,
    args: [input],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
  });
}
