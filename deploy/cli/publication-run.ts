import type { Client, ScheduleHandle } from '@temporalio/client';
import { listPublications, type Publication } from '../../pipelines/editions/publications.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import {
  defaultFetchCron,
  ensureSchedule,
  type ScheduledRun,
  triggerFetch,
} from '../../workflows/publication/schedule.ts';
import { CommandError } from './context.ts';
import { type Follow, followFetch, followPublication } from './publication-follow.ts';
import { lineOf } from './publication-output.ts';

/** What became of one asking: a JSON document, lines for a person, and the new publication where it was waited for. */
export interface RunOutcome {
  document: unknown;
  lines: readonly string[];
  settled: Publication | null;
}

const triggerTimeoutMs = 15_000;

/** Has the official site of a register asked now, through its schedule. @throws CommandError when the schedule is paused */
export async function startRun(client: Client, register: RegisterName): Promise<ScheduledRun> {
  const schedule = await ensureSchedule(client, register, { cron: defaultFetchCron });
  await refusePaused(schedule);
  return triggerFetch(schedule, triggerTimeoutMs);
}

export function startedRun(run: ScheduledRun): RunOutcome {
  return {
    document: { outcome: 'started', workflow_id: run.workflowId, run_id: run.runId },
    lines: [`Started ${run.workflowId}. See: npx padron publications list`],
    settled: null,
  };
}

/** Waits until what the site gave, or the newest known publication, is settled. @throws CommandError when the fetch failed */
export async function followRun(follow: Follow, register: RegisterName, run: ScheduledRun): Promise<RunOutcome> {
  const fetched = await followFetch(follow, run);
  const id = fetched.publicationId ?? (await newestId(follow, register));
  if (id === null) {
    const document = { outcome: 'nothing_new', publication: null };
    return { document, lines: ['Nothing new, and nothing known.'], settled: null };
  }
  const publication = await followPublication(follow, id);
  return fetched.outcome === 'nothing_new' ? nothingNew(publication) : settled(publication);
}

function settled(publication: Publication): RunOutcome {
  return { document: publication, lines: [lineOf(publication)], settled: publication };
}

function nothingNew(publication: Publication): RunOutcome {
  const document = { outcome: 'nothing_new', publication };
  return { document, lines: ['Nothing new. The latest:', lineOf(publication)], settled: null };
}

/** The schedule itself, paused on Temporal's page: then nothing would start. */
async function refusePaused(schedule: ScheduleHandle): Promise<void> {
  const { state } = await schedule.describe();
  if (!state.paused) return;
  throw new CommandError(
    `The schedule ${schedule.scheduleId} is paused${state.note ? ` (${state.note})` : ''}.`,
    "Unpause it on Temporal's page first.",
  );
}

async function newestId(follow: Follow, register: RegisterName): Promise<number | null> {
  const [newest] = await listPublications(follow.pool, { register, state: null, maxRows: 1 });
  return newest?.id ?? null;
}
