import { type Client, ScheduleOverlapPolicy } from '@temporalio/client';
import { listPublications, type Publication } from '../../pipelines/editions/publications.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import {
  defaultFetchCron,
  ensureSchedule,
  type ScheduledRun,
  triggerFetch,
} from '../../workflows/publication/schedule.ts';
import { CommandError } from './context.ts';
import { checkDeadline, type Follow, followFetch, followPublication } from './publication-follow.ts';
import { lineOf } from './publication-output.ts';

/** What became of one asking: a JSON document, lines for a person, and the new publication where it was waited for. */
export interface RunOutcome {
  document: unknown;
  lines: readonly string[];
  settled: Publication | null;
}

const triggerTimeoutMs = 15_000;

/** Has the official site of a register asked now, through its schedule. @throws CommandError when the schedule is paused */
export async function askNow(client: Client, register: RegisterName): Promise<RunOutcome> {
  const { schedule, underWay } = await scheduleOf(client, register);
  if (underWay === null) return started(await triggerFetch(schedule, triggerTimeoutMs));
  await schedule.trigger(ScheduleOverlapPolicy.BUFFER_ONE);
  return {
    document: { outcome: 'queued', after_workflow_id: underWay },
    lines: [`${register} is being asked already (${underWay}). It is asked once more when that has ended.`],
    settled: null,
  };
}

function started(run: ScheduledRun): RunOutcome {
  return {
    document: { outcome: 'started', workflow_id: run.workflowId, run_id: run.runId },
    lines: [`Started ${run.workflowId}. See: npx padron publications list`],
    settled: null,
  };
}

/**
 * The same, and waits until what the site gave, or the newest known publication, is settled.
 * @throws CommandError also when the fetch failed
 */
export async function askAndFollow(follow: Follow, register: RegisterName): Promise<RunOutcome> {
  const { schedule, underWay } = await scheduleOf(follow.client, register);
  if (underWay !== null) follow.note(`asked already (${underWay}): waiting for its end`);
  const run = await triggerFetch(schedule, underWay === null ? triggerTimeoutMs : follow.deadline - Date.now()).catch(
    (error: unknown) => {
      checkDeadline(follow);
      throw error;
    },
  );
  follow.note(`asking the official site of ${register} (${run.workflowId})`);
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

/** With the id of the run that is under way, if one is: a new one begins after it. */
async function scheduleOf(client: Client, register: RegisterName) {
  const schedule = await ensureSchedule(client, register, { cron: defaultFetchCron });
  const { state, info } = await schedule.describe();
  // Paused on Temporal's page: then nothing would start.
  if (state.paused) {
    throw new CommandError(
      `The schedule ${schedule.scheduleId} is paused${state.note ? ` (${state.note})` : ''}.`,
      "Unpause it on Temporal's page first.",
    );
  }
  return { schedule, underWay: info.runningActions[0]?.workflow.workflowId ?? null };
}

async function newestId(follow: Follow, register: RegisterName): Promise<number | null> {
  const [newest] = await listPublications(follow.pool, { register, state: null, maxRows: 1 });
  return newest?.id ?? null;
}
