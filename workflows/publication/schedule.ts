import { type Client, ScheduleAlreadyRunning, type ScheduleHandle, ScheduleOverlapPolicy } from '@temporalio/client';
import type { RegisterName } from '../../schemas/registers.ts';
import { fetchWorkflowId, publicationQueue, type RegisterInput, scheduleId } from './messages.ts';

export interface ScheduleSettings {
  /** When the official site is asked, in America/Lima. */
  cron: string;
}

/** The file appears at about 02:40; a probe that finds nothing new costs one request. */
export const defaultFetchCron = '0,30 3-8 * * *';
const timezone = 'America/Lima';
/** A probe that was missed (Temporal was down) is made up for while the day is young. */
const catchupWindow = '12 hours';

/**
 * The register's schedule, made where it is missing (also after Temporal lost its data). Repeatable. The server appends
 * the time to the workflow's id: `fetch/<register>-<time>`.
 */
export async function ensureSchedule(
  client: Client,
  register: RegisterName,
  settings: ScheduleSettings,
): Promise<ScheduleHandle> {
  try {
    return await client.schedule.create({ scheduleId: scheduleId(register), ...optionsOf(register, settings) });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    return client.schedule.getHandle(scheduleId(register));
  }
}

/** Brings an older schedule to these settings; whether an operator has paused it stays as it is. */
export async function updateSchedule(
  client: Client,
  register: RegisterName,
  settings: ScheduleSettings,
): Promise<void> {
  const handle = await ensureSchedule(client, register, settings);
  await handle.update((previous) => ({ ...previous, ...optionsOf(register, settings) }));
}

function optionsOf(register: RegisterName, settings: ScheduleSettings) {
  const input: RegisterInput = { register };
  return {
    spec: { cronExpressions: [settings.cron], timezone },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow, pauseOnFailure: false },
    action: {
      type: 'startWorkflow' as const,
      workflowType: 'fetch',
      workflowId: fetchWorkflowId(register),
      taskQueue: publicationQueue,
      args: [input],
    },
  };
}

/** One run of `fetch`, as the schedule knows it. */
export interface ScheduledRun {
  workflowId: string;
  runId: string;
}

/**
 * Asks the site now, through the schedule, and says which run it became. While one runs, this one waits for it: it may
 * have asked the site before the file that the caller knows of was there.
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
