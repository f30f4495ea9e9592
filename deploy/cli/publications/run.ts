import { type Client, ScheduleOverlapPolicy } from '@temporalio/client';
import { readHead } from '../../../pipelines/editions/heads.ts';
import { listPublications, type Publication } from '../../../pipelines/editions/publications.ts';
import type { RegisterName } from '../../../schemas/registers.ts';
import { defaultSchedules, ensureSchedule, triggerFetch } from '../../../workflows/publication/schedule.ts';
import { type PadronCommand, registerArgument, registersOf } from '../arguments.ts';
import { noteStopped, publicationLine } from '../catalogue.ts';
import { type CommandContext, CommandError, exitStopped, type OutputOptions } from '../context.ts';
import { checkDeadline, connectTemporal, type Follow, followFetch, followOf, followPublication } from './follow.ts';

interface RunOptions extends OutputOptions {
  wait?: boolean;
  timeout: number;
}

/** `padron publications run`: fetches registers now instead of at their next scheduled time. */
export function addRunCommand(publications: PadronCommand, context: CommandContext): void {
  publications
    .command('run')
    .description('Asks the official site now, and takes what is new all the way to the API and the deliveries.')
    .argument('<registers...>', registerArgument, registersOf)
    .waitOptions()
    .jsonOption('one JSON document on standard output; of several registers a list, in their order')
    .remarks(
      `With --wait the exit code is 0 when it was published (or nothing was new) and ${exitStopped} when it was stopped.`,
    )
    .examples(
      'publications run padron_reducido',
      'publications run padron_reducido --wait --json',
      'publications run agentes_retencion buenos_contribuyentes --wait',
    )
    .action((registers: RegisterName[], options: RunOptions) => runAll(context, registers, options));
}

/** Fetches all registers in parallel. When one fails, the others' results are shown before its error is thrown. */
async function runAll(context: CommandContext, registers: readonly RegisterName[], options: RunOptions): Promise<void> {
  for (const register of options.wait ? registers : []) await refuseWaiting(context, register);
  const client = await connectTemporal(context);
  const follow = options.wait ? await followOf(context, client, options.timeout) : null;
  const results = await Promise.allSettled(
    registers.map(async (register) => {
      const note = (text: string) => context.note(registers.length > 1 ? `${register}: ${text}` : text);
      return follow === null ? fetchNow(client, register) : fetchAndFollow({ ...follow, note }, register);
    }),
  );
  const outcomes = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const documents = outcomes.map(({ document }) => document);
  if (outcomes.length > 0) {
    const lines = outcomes.flatMap((outcome) => outcome.lines);
    context.show(options, registers.length > 1 ? documents : documents[0], lines);
  }
  for (const { settled } of outcomes) if (settled !== null) noteStopped(context, settled);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** The result of fetching one register: `document` for --json, `lines` for a person. */
interface RunOutcome {
  document: unknown;
  lines: readonly string[];
  /** The new publication that the command waited for. Null when there was none, or without --wait. */
  settled: Publication | null;
}

const triggerTimeoutMs = 15_000;

/** Starts a fetch through the register's schedule. If a fetch is running, the new one starts after it. */
async function fetchNow(client: Client, register: RegisterName): Promise<RunOutcome> {
  const { schedule, running } = await scheduleOf(client, register);
  if (running === null) {
    const run = await triggerFetch(schedule, triggerTimeoutMs);
    return {
      document: { outcome: 'started', workflow_id: run.workflowId, run_id: run.runId },
      lines: [`Started ${run.workflowId}. See: npx padron publications list`],
      settled: null,
    };
  }
  await schedule.trigger(ScheduleOverlapPolicy.BUFFER_ONE);
  return {
    document: { outcome: 'queued', after_workflow_id: running },
    lines: [`${register} is being asked already (${running}). It is asked once more when that has ended.`],
    settled: null,
  };
}

/**
 * Starts a fetch, and waits until the publication that it finds is settled (see `isSettled`). If the site has nothing
 * new, the register's newest known publication is waited for instead.
 * @throws CommandError when the fetch failed, waiting took too long, or the schedule is paused
 */
async function fetchAndFollow(follow: Follow, register: RegisterName): Promise<RunOutcome> {
  const { schedule, running } = await scheduleOf(follow.client, register);
  if (running !== null) follow.note(`asked already (${running}): waiting for its end`);
  const run = await triggerFetch(schedule, running === null ? triggerTimeoutMs : follow.deadline - Date.now()).catch(
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
  const line = publicationLine(publication);
  if (fetched.outcome !== 'nothing_new') return { document: publication, lines: [line], settled: publication };
  const document = { outcome: 'nothing_new', publication };
  return { document, lines: ['Nothing new. The latest:', line], settled: null };
}

/**
 * Returns the register's schedule and the id of its running fetch. The id is null when no fetch runs.
 * @throws CommandError when the schedule is paused
 */
async function scheduleOf(client: Client, register: RegisterName) {
  const schedule = await ensureSchedule(client, register, defaultSchedules);
  const { state, info } = await schedule.describe();
  // A person can pause a schedule on Temporal's page. A paused schedule starts nothing, even when it is triggered.
  if (state.paused) {
    throw new CommandError(
      `The schedule ${schedule.scheduleId} is paused${state.note ? ` (${state.note})` : ''}.`,
      "Unpause it on Temporal's page first.",
    );
  }
  return { schedule, running: info.runningActions[0]?.workflow.workflowId ?? null };
}

async function newestId(follow: Follow, register: RegisterName): Promise<number | null> {
  const [newest] = await listPublications(follow.pool, { register, state: null, maxRows: 1 });
  return newest?.id ?? null;
}

/** Refuses --wait for a paused register, which makes no edition until somebody resumes it. @throws CommandError */
export async function refuseWaiting(context: CommandContext, register: RegisterName): Promise<void> {
  const { paused_at, paused_by, paused_reason } = await readHead(context.pool(), register);
  if (paused_at === null) return;
  throw new CommandError(
    `${register} is paused by ${paused_by}${paused_reason === null ? '' : ` (${paused_reason})`}: it makes no edition to wait for.`,
    `Resume it with: npx padron publications resume ${register}`,
  );
}
