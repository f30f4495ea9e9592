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
import { defaultTimeoutSeconds, registerArgument, registerOf, registersOf, wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, exitStopped, type OutputOptions } from './context.ts';
import { gateLines } from './gate-lines.ts';
import { refuseWaiting, registerDecisions, registerPauses, waitDescription } from './publication-decisions.ts';
import { lineOf, noteStopped } from './publication-output.ts';
import { askAndFollow, askNow } from './publication-run.ts';
import { connectTemporal, followOf } from './temporal.ts';

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
