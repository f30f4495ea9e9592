import { type Client, type ScheduleHandle, ServiceError } from '@temporalio/client';
import { type Command, Option } from 'commander';
import { approvePublication, rejectPublication } from '../../pipelines/editions/decisions.ts';
import {
  finalStates,
  findPublication,
  listPublications,
  openStates,
  type Publication,
  type PublicationState,
} from '../../pipelines/editions/publications.ts';
import { isRegisterName, type RegisterName, registerNames } from '../../schemas/registers.ts';
import { defaultFetchCron, ensureSchedule, triggerFetch } from '../../workflows/publication/schedule.ts';
import { wakePublish } from '../../workflows/publication/wake.ts';
import { temporalBlock } from '../runtime/config.ts';
import { inTransaction } from '../runtime/postgres.ts';
import { makeTemporal } from '../runtime/temporal.ts';
import { wholeNumber } from './accounts.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';
import { type Follow, followFetch, followPublication } from './publication-follow.ts';

interface WaitOptions extends OutputOptions {
  wait?: boolean;
  timeout: number;
}

const triggerTimeoutMs = 15_000;
/** A command that waited and saw the publication stopped, not published. */
const exitStopped = 2;
const waitDescription = 'wait until it is final and, when published, materialised and notified';
const defaultTimeoutSeconds = 6 * 3600;

/** `padron publications run|list|show|approve|reject`. */
export function registerPublicationsCommands(program: Command, context: CommandContext): void {
  const publications = program
    .command('publications')
    .description('Files of the registers as published: fetch them, see them, decide about those in quarantine.');
  registerRun(publications, context);
  registerReading(publications, context);
  registerDecisions(publications, context);
}

function registerRun(publications: Command, context: CommandContext): void {
  publications
    .command('run')
    .description('Asks the official site now, and takes what is new all the way to the API and the notices.')
    .argument('<register>', `one of: ${registerNames.join(', ')}`, registerOf)
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
    .action(async (register: RegisterName, options: WaitOptions) => {
      const client = await connect(context);
      const schedule = await ensureSchedule(client, register, { cron: defaultFetchCron });
      await refusePaused(schedule);
      const run = await triggerFetch(schedule, triggerTimeoutMs);
      context.note(`asking the official site of ${register} (${run.workflowId})`);
      if (!options.wait) {
        const started = { outcome: 'started', workflow_id: run.workflowId, run_id: run.runId };
        context.show(options, started, `Started ${run.workflowId}. See: npx padron publications list`);
        return;
      }
      const follow = followOf(context, client, options);
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
    });

  publications
    .command('show')
    .description('One publication with its gates.')
    .argument('<id>', 'its number, as `padron publications list` shows it', wholeNumber)
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron publications show 7')
    .action(async (id: number, options: OutputOptions) => {
      const publication = await findPublication(context.pool(), id);
      if (publication === null) throw unknown(id);
      context.show(options, publication, [
        lineOf(publication),
        ...publication.gates.map((gate) => `  ${gate.passed ? 'passed' : 'FAILED'}  ${gate.gate}: ${gate.text}`),
      ]);
    });
}

interface DecisionOptions extends WaitOptions {
  by: string;
  reason?: string;
  date?: string;
}

function registerDecisions(publications: Command, context: CommandContext): void {
  publications
    .command('approve')
    .description(
      "Takes a publication out of quarantine: it is compared with today's state, and its gates do not stop it.",
    )
    .argument('<id>', 'its number', wholeNumber)
    .option('--by <name>', 'who decides; kept with the publication', 'operator')
    .option('--reason <text>', 'why; kept with the publication')
    .option('--date <day>', 'date of the data (YYYY-MM-DD), for a publication that came without', dayOf)
    .option('--wait', waitDescription)
    .option('--timeout <seconds>', 'with --wait: give up watching after so long', wholeNumber, defaultTimeoutSeconds)
    .option('--json', 'one JSON document on standard output')
    .addHelpText(
      'after',
      '\nExample:\n  $ npx padron publications approve 7 --by "Ana Ruiz" --reason "yearly clean-up" --wait',
    )
    .action(async (id: number, options: DecisionOptions) => {
      const client = await connect(context);
      const decision = { by: options.by, reason: options.reason ?? null, fechaDato: options.date ?? null };
      const approved = await inTransaction(context.pool(), (database) => approvePublication(database, id, decision));
      // Dying before this: the worker's sweeper finds it waiting.
      await wakePublish(client, approved.register);
      if (!options.wait) return context.show(options, approved, lineOf(approved));
      showSettled(context, options, await followPublication(followOf(context, client, options), id));
    });

  publications
    .command('reject')
    .description('Ends a publication in quarantine for good.')
    .argument('<id>', 'its number', wholeNumber)
    .option('--by <name>', 'who decides; kept with the publication', 'operator')
    .option('--reason <text>', 'why; kept with the publication')
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron publications reject 7 --by "Ana Ruiz" --reason "cut file"')
    .action(async (id: number, options: DecisionOptions) => {
      const decision = { by: options.by, reason: options.reason ?? null };
      const rejected = await inTransaction(context.pool(), (database) => rejectPublication(database, id, decision));
      context.show(options, rejected, lineOf(rejected));
    });
}

async function connect(context: CommandContext): Promise<Client> {
  const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = context.configuration(temporalBlock);
  try {
    const client = await makeTemporal(TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE);
    context.onEnd(() => client.connection.close());
    return client;
  } catch (error) {
    if (!(error instanceof ServiceError) && !(error instanceof Error)) throw error;
    throw new CommandError(`Temporal does not answer at ${TEMPORAL_ADDRESS}.`, 'Start the stack with `npm start`.');
  }
}

async function refusePaused(schedule: ScheduleHandle): Promise<void> {
  const { state } = await schedule.describe();
  if (!state.paused) return;
  throw new CommandError(
    `The schedule ${schedule.scheduleId} is paused${state.note ? ` (${state.note})` : ''}.`,
    "Unpause it on Temporal's page first.",
  );
}

function followOf(context: CommandContext, client: Client, options: WaitOptions): Follow {
  const deadline = Date.now() + options.timeout * 1000;
  return { pool: context.pool(), client, note: (text) => context.note(text), deadline };
}

async function newestId(context: CommandContext, register: RegisterName): Promise<number | null> {
  const [newest] = await listPublications(context.pool(), { register, state: null, maxRows: 1 });
  return newest?.id ?? null;
}

function showSettled(context: CommandContext, options: OutputOptions, publication: Publication): void {
  context.show(options, publication, lineOf(publication));
  if (publication.state === 'en_cuarentena') {
    context.note(`It waits for a decision: npx padron publications show ${publication.id}`);
  }
  if (['en_cuarentena', 'rechazada'].includes(publication.state)) process.exitCode = exitStopped;
}

function showNothingNew(context: CommandContext, options: OutputOptions, publication: Publication): void {
  context.show(options, { outcome: 'nothing_new', publication }, ['Nothing new. The latest:', lineOf(publication)]);
}

/** One line for a person. */
function lineOf(publication: Publication): string {
  const { id, register, fecha_dato, state, rows, edition, state_reason } = publication;
  const parts = [`#${id}`, register, fecha_dato ?? 'no date', state];
  if (edition !== null) parts.push(`edition ${edition}`);
  if (rows !== null) parts.push(`${rows.toLocaleString('en')} rows, ${publication.rejected ?? 0} rejected`);
  if (state_reason !== null) parts.push(state_reason);
  return parts.join('  ');
}

export function registerOf(text: string): RegisterName {
  if (isRegisterName(text)) return text;
  throw new CommandError(`There is no register "${text}".`, `Registers: ${registerNames.join(', ')}.`);
}

function dayOf(text: string): string {
  const day = new Date(`${text}T00:00:00Z`);
  if (!Number.isNaN(day.getTime()) && day.toISOString().slice(0, 10) === text) return text;
  throw new CommandError(`"${text}" is not a day.`, 'Write it as YYYY-MM-DD.');
}

function unknown(id: number): CommandError {
  return new CommandError(`There is no publication ${id}.`, 'See them with: npx padron publications list');
}
