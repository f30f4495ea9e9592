import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { type Correction, correctionOf, requestCorrection } from '../../pipelines/editions/corrections.ts';
import { DecisionError, publishAgain } from '../../pipelines/editions/decisions.ts';
import { type Edition, editionPartitions, findEdition, listEditions } from '../../pipelines/editions/editions.ts';
import { findPublication } from '../../pipelines/editions/publications.ts';
import { inTransaction, type PoolClient } from '../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { defaultTimeoutSeconds, registerArgument, registerOf, wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, exitStopped, type OutputOptions } from './context.ts';
import {
  type EditionFacts,
  editionLine,
  editionLines,
  type Listed,
  openConfiguredArchive,
  readListed,
} from './output.ts';

interface RevertOptions extends OutputOptions {
  by: string;
  reason: string;
  wait?: boolean;
  timeout: number;
}

/** `padron editions list|show|revert|republish`. */
export function registerEditionsCommands(program: Command, context: CommandContext): void {
  const editions = program
    .command('editions')
    .description('States that the registers have had, each with a number.')
    .addHelpText('after', '\nExample:\n  $ npx padron editions list --register padron_reducido');
  registerReading(editions, context);
  registerRevert(editions, context);
  registerRepublish(editions, context);
}

function registerReading(editions: Command, context: CommandContext): void {
  editions
    .command('list')
    .description('Editions, newest first.')
    .option('--register <register>', 'of this register only', registerOf)
    .option('--limit <count>', 'how many at most', wholeNumber, 20)
    .option('--json', 'one JSON document on standard output')
    .addHelpText(
      'after',
      '\nExamples:\n  $ npx padron editions list\n  $ npx padron editions list --register padron_reducido --json',
    )
    .action(async (options: OutputOptions & { register?: RegisterName; limit: number }) => {
      const rows = await listEditions(context.pool(), { register: options.register ?? null, maxRows: options.limit });
      context.show(options, rows, rows.length === 0 ? 'No editions yet.' : rows.map(editionLine));
    });

  editions
    .command('show')
    .description('One edition: its counts, where it ends in Kafka, what it corrects or is corrected by, its gates.')
    .argument('<register>', registerArgument, registerOf)
    .argument('<number>', 'number of the edition', wholeNumber)
    .option('--json', 'one JSON document on standard output')
    .option('--conflicts', 'of a correction: the rows that it left as they are (the first fifty)')
    .addHelpText(
      'after',
      '\nExamples:\n  $ npx padron editions show padron_reducido 12\n  $ npx padron editions show padron_reducido 13 --conflicts',
    )
    .action(async (register: RegisterName, number: number, options: OutputOptions & { conflicts?: boolean }) => {
      const edition = await findEdition(context.pool(), register, number);
      if (edition === null) throw unknown(register, number);
      const facts = await factsOf(context, edition);
      if (options.conflicts) facts.conflicts = await conflictsOf(context, edition);
      context.show(options, facts, editionLines(facts));
    });
}

async function factsOf(context: CommandContext, edition: Edition): Promise<EditionFacts> {
  const pool = context.pool();
  const { register, number, publication_id } = edition;
  const [partitions, corrected_by, publication] = await Promise.all([
    editionPartitions(pool, register, number),
    correctionOf(pool, register, number),
    publication_id === null ? null : findPublication(pool, publication_id),
  ]);
  return { ...edition, partitions, corrected_by, gates: publication?.gates ?? [] };
}

const maxConflictsShown = 50;

async function conflictsOf(context: CommandContext, { register, number, corrects }: Edition): Promise<Listed> {
  if (corrects === null)
    throw new CommandError(`Edition ${number} of ${register} is no correction.`, 'Leave --conflicts out.');
  const correction = await correctionOf(context.pool(), register, corrects);
  const sha256 = (correction?.compare_result?.rejectsSha256 ?? null) as string | null;
  if (sha256 === null) return { lines: [], omitted: 0 };
  return await readListed(await openConfiguredArchive(context), register, sha256, maxConflictsShown);
}

function registerRevert(editions: Command, context: CommandContext): void {
  editions
    .command('revert')
    .description('Undoes an edition: a new edition gives each of its rows the value from before. Nothing is deleted.')
    .argument('<register>', registerArgument, registerOf)
    .argument('<number>', 'number of the edition to undo', wholeNumber)
    .requiredOption('--reason <text>', 'why; kept with the correction')
    .option('--by <name>', 'who decides; kept with the correction', 'operator')
    .option('--wait', 'wait until the correction is materialised and notified')
    .option('--timeout <seconds>', 'with --wait: give up watching after so long', wholeNumber, defaultTimeoutSeconds)
    .option('--json', 'one JSON document on standard output')
    .addHelpText(
      'after',
      `
A row that a later edition changed again is left as it is and counted as a conflict. Notices that were not sent yet are
cancelled; those that were sent are followed by one that marks the correction. The first edition of a register, and one
that wrote all rows anew, cannot be undone. The file that was undone goes to quarantine if the site still offers it.

Example:
  $ npx padron editions revert padron_reducido 12 --reason "names of another file" --by "Ana Ruiz" --wait`,
    )
    .action(async (register: RegisterName, number: number, options: RevertOptions) => {
      const order = { by: options.by, reason: options.reason };
      const requested = await orderRevert(context, register, number, order);
      await carryOut(context, requested, options);
    });
}

function registerRepublish(editions: Command, context: CommandContext): void {
  editions
    .command('republish')
    .description(
      'Sends an edition into Kafka once more: where rows of it are missing in ClickHouse, and it waits for them.',
    )
    .argument('<register>', registerArgument, registerOf)
    .argument('<number>', 'number of the edition', wholeNumber)
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron editions republish padron_reducido 12')
    .action(async (register: RegisterName, number: number, options: OutputOptions) => {
      const edition = await decide(context, register, number, (client) => publishAgain(client, register, number));
      await wake(context, register);
      context.show(options, edition, `Edition ${number} of ${register} is to be published again.`);
    });
}

function orderRevert(
  context: CommandContext,
  register: RegisterName,
  number: number,
  order: { by: string; reason: string },
): Promise<Correction> {
  return decide(context, register, number, (client) => requestCorrection(client, register, number, order));
}

async function decide<Result>(
  context: CommandContext,
  register: RegisterName,
  number: number,
  decision: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  try {
    return await inTransaction(context.pool(), decision);
  } catch (error) {
    if (!(error instanceof DecisionError)) throw error;
    if (error.code === 'edition_unknown') throw unknown(register, number);
    throw new CommandError(`${error.message}.`, `See it with: npx padron editions show ${register} ${number}`);
  }
}

/** Dying before it ends: the worker's sweeper finds what was ordered. */
async function wake(context: CommandContext, register: RegisterName): Promise<Client> {
  // Loaded here: listing editions asks no Temporal.
  const [{ connectTemporal }, { wakePublish }] = await Promise.all([
    import('./publication-follow.ts'),
    import('../../workflows/publication/schedule.ts'),
  ]);
  const client = await connectTemporal(context);
  await wakePublish(client, register);
  return client;
}

async function carryOut(context: CommandContext, requested: Correction, options: RevertOptions): Promise<void> {
  const client = await wake(context, requested.register);
  if (!options.wait) return context.show(options, requested, correctionLine(requested));
  const [{ followOf }, { followCorrection }] = await Promise.all([
    import('./publication-follow.ts'),
    import('./publication-follow.ts'),
  ]);
  const done = await followCorrection(await followOf(context, client, options.timeout), requested.id);
  context.show(options, done, correctionLine(done));
  if (done.state === 'rechazada') process.exitCode = exitStopped;
}

function correctionLine({ register, corrects, edition, state, state_reason, compare_result }: Correction): string {
  const { conflicts } = (compare_result?.counts ?? {}) as { conflicts?: number };
  const parts = [`${register} ${corrects} is to be undone`, state];
  if (edition !== null) parts.push(`edition ${edition}`);
  if (conflicts !== undefined) parts.push(`${conflicts.toLocaleString('en')} conflicts`);
  if (state_reason !== null) parts.push(state_reason);
  return parts.join('  ');
}

function unknown(register: RegisterName, number: number): CommandError {
  return new CommandError(
    `${register} has no edition ${number}.`,
    `See them with: npx padron editions list --register ${register}`,
  );
}
