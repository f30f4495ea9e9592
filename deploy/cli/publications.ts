import { type Client, ScheduleOverlapPolicy } from '@temporalio/client';
import { type Command, Option } from 'commander';
import { readFreshness } from '../../pipelines/editions/freshness.ts';
import {
  finalStates,
  findPublication,
  listPublications,
  openStates,
  type Publication,
  type PublicationState,
} from '../../pipelines/editions/publications.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import {
  defaultFetchCron,
  ensureSchedule,
  type ScheduledRun,
  triggerFetch,
} from '../../workflows/publication/schedule.ts';
import { defaultTimeoutSeconds, registerArgument, registerOf, registersOf, wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, exitStopped, type OutputOptions } from './context.ts';
import { gateLines, lineOf, noteStopped } from './output.ts';
import { refuseWaiting, registerDecisions, registerPauses, waitDescription } from './publication-decisions.ts';
import {
  checkDeadline,
  connectTemporal,
  type Follow,
  followFetch,
  followOf,
  followPublication,
} from './publication-follow.ts';

interface RunOptions extends OutputOptions {
  wait?: boolean;
  timeout: number;
}

/** `padron publications run|list|show|approve|reject|pause|resume`. */
export function registerPublicationsCommands(program: Command, context: CommandContext): void {
  const publications = program
    .command('publications')
    .description('Files of the registers as published: fetch them, see them, decide about them.')
    .addHelpText('after', '\nExample:\n  $ npx padron publications list --state en_cuarentena');
  registerRun(publications, context);
  registerReading(publications, context);
  registerDecisions(publications, context);
  registerPauses(publications, context);
}

function registerRun(publications: Command, context: CommandContext): void {
  publications
    .command('run')
    .description('Asks the official site now, and takes what is new all the way to the API and the notices.')
    .argument('<registers...>', registerArgument, registersOf)
    .option('--wait', waitDescription)
    .option('--timeout <seconds>', 'with --wait: give up watching after so long', wholeNumber, defaultTimeoutSeconds)
    .option('--json', 'one JSON document on standard output; of several registers a list, in their order')
    .addHelpText(
      'after',
      `
With --wait the exit code is 0 when it was published (or nothing was new) and ${exitStopped} when it was stopped.

Examples:
  $ npx padron publications run padron_reducido
  $ npx padron publications run padron_reducido --wait --json
  $ npx padron publications run agentes_retencion buenos_contribuyentes --wait`,
    )
    .action((registers: RegisterName[], options: RunOptions) => runAll(context, registers, options));
}

/** Asks for all at once. What became of the others is shown also when one fails; its error is then the command's. */
async function runAll(context: CommandContext, registers: readonly RegisterName[], options: RunOptions): Promise<void> {
  for (const register of options.wait ? registers : []) await refuseWaiting(context, register);
  const client = await connectTemporal(context);
  const follow = options.wait ? await followOf(context, client, options.timeout) : null;
  const results = await Promise.allSettled(
    registers.map(async (register) => {
      const note = (text: string) => context.note(registers.length > 1 ? `${register}: ${text}` : text);
      return follow === null ? askNow(client, register) : askAndFollow({ ...follow, note }, register);
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

function registerReading(publications: Command, context: CommandContext): void {
  publications
    .command('list')
    .description('Publications, newest first.')
    .option('--register <register>', 'of this register only', registerOf)
    .addOption(new Option('--state <state>', 'in this state only').choices([...openStates, ...finalStates]))
    .option('--limit <count>', 'how many at most', wholeNumber, 20)
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron publications list --state en_cuarentena')
    .action(async (options: OutputOptions & { register?: RegisterName; state?: PublicationState; limit: number }) => {
      const { register = null, state = null, limit } = options;
      const rows = await listPublications(context.pool(), { register, state, maxRows: limit });
      context.show(options, rows, rows.length === 0 ? 'No publications.' : rows.map(lineOf));
      for (const paused of await pausedRegisters(context, register)) context.note(`${paused} is paused.`);
    });

  publications
    .command('show')
    .description('One publication with its gates: what was found, what is allowed, whether it passed.')
    .argument('<id>', 'its number, as `padron publications list` shows it', wholeNumber)
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron publications show 7')
    .action(async (id: number, options: OutputOptions) => {
      const publication = await findPublication(context.pool(), id);
      if (publication === null) throw unknown(id);
      context.show(options, publication, [
        lineOf(publication),
        ...(publication.decided_by === null ? [] : [`  decided by ${publication.decided_by}`]),
        ...(publication.removed_at === null
          ? []
          : [`  its file left the archive on ${publication.removed_at.toISOString()}`]),
        ...gateLines(publication.gates),
      ]);
    });
}

/** Said beside a list, so that nobody wonders why a downloaded publication stands still. */
async function pausedRegisters(context: CommandContext, asked: RegisterName | null): Promise<RegisterName[]> {
  const paused = (await readFreshness(context.pool())).filter(({ paused_at }) => paused_at !== null);
  return paused.map(({ register }) => register).filter((register) => asked === null || register === asked);
}

function unknown(id: number): CommandError {
  return new CommandError(`There is no publication ${id}.`, 'See them with: npx padron publications list');
}

/** What became of one asking: a JSON document, lines for a person, and the new publication where it was waited for. */
export interface RunOutcome {
  document: unknown;
  lines: readonly string[];
  settled: Publication | null;
}

const triggerTimeoutMs = 15_000;

/** Has the official site of a register asked now, through its schedule. @throws CommandError when the schedule is paused */
async function askNow(client: Client, register: RegisterName): Promise<RunOutcome> {
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
async function askAndFollow(follow: Follow, register: RegisterName): Promise<RunOutcome> {
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
