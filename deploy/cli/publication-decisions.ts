import type { Command } from 'commander';
import { approvePublication, DecisionError, rejectPublication } from '../../pipelines/editions/decisions.ts';
import { pauseRegister, readHead, resumeRegister } from '../../pipelines/editions/heads.ts';
import { findPublication, type Publication } from '../../pipelines/editions/publications.ts';
import { inTransaction, type PoolClient } from '../../pipelines/runtime/postgres.ts';
import type { RegisterName } from '../../schemas/registers.ts';
import { wakePublish } from '../../workflows/publication/schedule.ts';
import { dayOf, defaultTimeoutSeconds, registerArgument, registerOf, wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';
import { lineOf, showSettled } from './output.ts';
import { connectTemporal, followOf, followPublication } from './publication-follow.ts';

interface DecisionOptions extends OutputOptions {
  by: string;
  reason?: string;
}

interface ApproveOptions extends DecisionOptions {
  date?: string;
  wait?: boolean;
  timeout: number;
}

export const waitDescription = 'wait until it is final and, when published, materialised and notified';

/** `padron publications approve|reject`: decisions about what is in quarantine. */
export function registerDecisions(publications: Command, context: CommandContext): void {
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
    .action(async (id: number, options: ApproveOptions) => {
      const asked = options.wait ? await findPublication(context.pool(), id) : null;
      if (asked !== null) await refuseWaiting(context, asked.register);
      const client = await connectTemporal(context);
      const decision = { by: options.by, reason: options.reason ?? null, fechaDato: options.date ?? null };
      const approved = await decide(context, id, (database) => approvePublication(database, id, decision));
      // Dying before this: the worker's sweeper finds it waiting.
      await wakePublish(client, approved.register);
      if (!options.wait) return context.show(options, approved, lineOf(approved));
      showSettled(context, options, await followPublication(await followOf(context, client, options.timeout), id));
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
      const rejected = await decide(context, id, (database) => rejectPublication(database, id, decision));
      context.show(options, rejected, lineOf(rejected));
    });
}

async function decide(
  context: CommandContext,
  id: number,
  decision: (client: PoolClient) => Promise<Publication>,
): Promise<Publication> {
  try {
    return await inTransaction(context.pool(), decision);
  } catch (error) {
    if (!(error instanceof DecisionError)) throw error;
    const isUnknown = error.code === 'publication_unknown';
    throw new CommandError(
      `${error.message}.`,
      `See ${isUnknown ? 'them with: npx padron publications list' : `it with: npx padron publications show ${id}`}`,
    );
  }
}

/** `padron publications pause|resume`: new editions of a register held back, or let come again. */
export function registerPauses(publications: Command, context: CommandContext): void {
  publications
    .command('pause')
    .description('Makes no new edition of a register. Downloads go on, and an edition on its way is finished.')
    .argument('<register>', registerArgument, registerOf)
    .option('--by <name>', 'who pauses; shown while it is paused', 'operator')
    .option('--reason <text>', 'why; shown while it is paused')
    .option('--json', 'one JSON document on standard output')
    .addHelpText(
      'after',
      `
An edition can still be undone while its register is paused: npx padron editions revert.

Example:
  $ npx padron publications pause padron_reducido --by "Ana Ruiz" --reason "names look wrong since the 3rd"`,
    )
    .action(async (register: RegisterName, options: DecisionOptions) => {
      const order = { by: options.by, reason: options.reason ?? null };
      const isNew = await pauseRegister(context.pool(), register, order);
      const said = isNew ? `${register} is paused: it makes no new edition.` : `${register} was paused already.`;
      context.show(options, await pauseOf(context, register), said);
    });

  publications
    .command('resume')
    .description('Lets a paused register make editions again: what was downloaded meanwhile is taken in order.')
    .argument('<register>', registerArgument, registerOf)
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron publications resume padron_reducido')
    .action(async (register: RegisterName, options: OutputOptions) => {
      const client = await connectTemporal(context);
      const isNew = await resumeRegister(context.pool(), register);
      // Dying before this: the worker's sweeper finds what waits.
      await wakePublish(client, register);
      const said = isNew ? `${register} makes editions again.` : `${register} was not paused.`;
      context.show(options, await pauseOf(context, register), said);
    });
}

async function pauseOf(context: CommandContext, register: RegisterName) {
  const { paused_at, paused_by, paused_reason } = await readHead(context.pool(), register);
  return { register, paused_at, paused_by, paused_reason };
}

/** Waiting for an edition of a paused register would last until somebody resumes it. @throws CommandError */
export async function refuseWaiting(context: CommandContext, register: RegisterName): Promise<void> {
  const { paused_at, paused_by, paused_reason } = await pauseOf(context, register);
  if (paused_at === null) return;
  throw new CommandError(
    `${register} is paused by ${paused_by}${paused_reason === null ? '' : ` (${paused_reason})`}: it makes no edition to wait for.`,
    `Resume it with: npx padron publications resume ${register}`,
  );
}
