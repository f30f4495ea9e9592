import type { ScheduleHandle } from '@temporalio/client';
import { type Command, Option } from 'commander';
import { readFreshness } from '../../pipelines/editions/freshness.ts';
import {
  finalStates,
  findPublication,
  listPublications,
  openStates,
  type PublicationState,
} from '../../pipelines/editions/publications.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { defaultFetchCron, ensureSchedule, triggerFetch } from '../../workflows/publication/schedule.ts';
import { defaultTimeoutSeconds, registerArgument, registerOf, wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, exitStopped, type OutputOptions } from './context.ts';
import { gateLines } from './gate-lines.ts';
import { refuseWaiting, registerDecisions, registerPauses, waitDescription } from './publication-decisions.ts';
import { followFetch, followPublication } from './publication-follow.ts';
import { lineOf, showNothingNew, showSettled } from './publication-output.ts';
import { connectTemporal, followOf } from './temporal.ts';

interface RunOptions extends OutputOptions {
  wait?: boolean;
  timeout: number;
}

const triggerTimeoutMs = 15_000;

/** `padron publications run|list|show|approve|reject|pause|resume`. */
export function registerPublicationsCommands(program: Command, context: CommandContext): void {
  const publications = program
    .command('publications')
    .description('Files of the registers as published: fetch them, see them, decide about them.');
  registerRun(publications, context);
  registerReading(publications, context);
  registerDecisions(publications, context);
  registerPauses(publications, context);
}

function registerRun(publications: Command, context: CommandContext): void {
  publications
    .command('run')
    .description('Asks the official site now, and takes what is new all the way to the API and the notices.')
    .argument('<register>', registerArgument, registerOf)
    .option('--wait', waitDescription)
    .option('--timeout <seconds>', 'with --wait: give up watching after so long', wholeNumber, defaultTimeoutSeconds)
    .option('--json', 'one JSON document on standard output')
    .addHelpText(
      'after',
      `
With --wait the exit code is 0 when it was published (or nothing was new) and ${exitStopped} when it was stopped.

Examples:
  $ npx padron publications run padron_reducido
  $ npx padron publications run padron_reducido --wait --json`,
    )
    .action(async (register: RegisterName, options: RunOptions) => {
      if (options.wait) await refuseWaiting(context, register);
      const client = await connectTemporal(context);
      const schedule = await ensureSchedule(client, register, { cron: defaultFetchCron });
      await refusePaused(schedule);
      const run = await triggerFetch(schedule, triggerTimeoutMs);
      context.note(`asking the official site of ${register} (${run.workflowId})`);
      if (!options.wait) {
        const started = { outcome: 'started', workflow_id: run.workflowId, run_id: run.runId };
        context.show(options, started, `Started ${run.workflowId}. See: npx padron publications list`);
        return;
      }
      const follow = followOf(context, client, options.timeout);
      const fetched = await followFetch(follow, run);
      const id = fetched.publicationId ?? (await newestId(context, register));
      if (id === null) {
        context.show(options, { outcome: 'nothing_new', publication: null }, 'Nothing new, and nothing known.');
        return;
      }
      const publication = await followPublication(follow, id);
      if (fetched.outcome === 'nothing_new') showNothingNew(context, options, publication);
      else showSettled(context, options, publication);
    });
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
        ...gateLines(publication.gates),
      ]);
    });
}

/** Said beside a list, so that nobody wonders why a downloaded publication stands still. */
async function pausedRegisters(context: CommandContext, asked: RegisterName | null): Promise<RegisterName[]> {
  const paused = (await readFreshness(context.pool())).filter(({ paused_at }) => paused_at !== null);
  return paused.map(({ register }) => register).filter((register) => asked === null || register === asked);
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

async function newestId(context: CommandContext, register: RegisterName): Promise<number | null> {
  const [newest] = await listPublications(context.pool(), { register, state: null, maxRows: 1 });
  return newest?.id ?? null;
}

function unknown(id: number): CommandError {
  return new CommandError(`There is no publication ${id}.`, 'See them with: npx padron publications list');
}
