import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import {
  createRecovery,
  type RecoverableState,
  type Recovery,
  readRecovery,
  recoverableStates,
} from '../../pipelines/watch/recoveries.ts';
import { accountOfDelivery, resendDelivery } from '../../pipelines/watch/resend.ts';
import { defaultTimeoutSeconds, instantOf, wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, exitStopped, type OutputOptions } from './context.ts';

/** Recoveries of one webhook under way at the same time, the customer's own among them. */
const maxRunning = 5;
const lookEveryMs = 500;
/** The worker finds what is due by itself (workflows/delivery/sweeper.ts): no wake-up is needed from here. */
const soon = 'A worker takes it up within half a minute.';

export function registerResendCommand(deliveries: Command, context: CommandContext): void {
  deliveries
    .command('resend')
    .description('Makes one delivery due now, under its id. Of a paused webhook it is held with the rest. Repeatable.')
    .argument('<delivery>', 'id of the delivery (X-Service-Delivery)')
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron deliveries resend en_5c…')
    .action(async (id: string, options: OutputOptions) => {
      const account = await accountOfDelivery(context.pool(), id);
      const resent = account === null ? null : await resendDelivery(context.pool(), account, id);
      if (resent === null || (!resent.ok && resent.problem === 'not_found'))
        throw new CommandError(`There is no delivery ${id}.`, 'It may be past its 13 months.');
      if (!resent.ok)
        throw new CommandError(
          `Delivery ${id} is cancelled.`,
          'A correction took it back, or its webhook was deleted.',
        );
      const { webhookId, estado } = resent;
      context.show(options, { id, webhook: webhookId, estado }, [
        `Delivery ${id} of ${webhookId} is ${estado}.`,
        estado === 'retenida' ? 'Its webhook is paused: it leaves when the customer resumes it.' : soon,
      ]);
    });
}

interface RecoverOptions extends OutputOptions {
  since: Date;
  until?: Date;
  states: RecoverableState[];
  dryRun?: boolean;
  wait?: boolean;
  timeout: number;
}

export function registerRecoverCommand(deliveries: Command, context: CommandContext): void {
  deliveries
    .command('recover')
    .description(
      'Sends again what a webhook was not told since a time: counted first, then made due in chunks by the api.',
    )
    .argument('<webhook>', 'id of the webhook')
    .requiredOption(
      '--since <time>',
      'deliveries made from then: YYYY-MM-DD in Lima, or ISO 8601 with an offset',
      instantOf,
    )
    .option('--until <time>', 'deliveries made until then (default: now)', instantOf)
    .option('--states <list>', `of ${recoverableStates.join(', ')}, separated by commas`, statesOf, [
      'agotada',
      'descartada',
    ])
    .option('--dry-run', 'only counts')
    .option('--wait', 'waits until all are due')
    .option('--timeout <seconds>', 'how long --wait waits', wholeNumber, defaultTimeoutSeconds)
    .option('--json', 'one JSON document on standard output')
    .addHelpText(
      'after',
      `
Examples:
  $ npx padron deliveries recover wh_3f… --since 2026-11-20 --dry-run
  $ npx padron deliveries recover wh_3f… --since 2026-11-20T09:00:00-05:00 --wait`,
    )
    .action(async (webhook: string, options: RecoverOptions) => {
      const { since: from, until = null, states, dryRun = false } = options;
      await requireWebhook(context, webhook);
      const wanted = { from, until, states, isSimulated: dryRun };
      const made = await createRecovery(context.pool(), webhook, wanted, maxRunning);
      if (made === null)
        throw new CommandError(`${webhook} has ${maxRunning} recoveries under way.`, 'Wait until one has ended.');
      const recovery = options.wait && !dryRun ? await followRecovery(context, made, options.timeout) : made;
      if (recovery.estado === 'cancelada') process.exitCode = exitStopped;
      const { id, estado, total, resent } = recovery;
      context.show(options, { id, webhook, estado, total, resent }, recoveryLine(recovery));
    });
}

async function requireWebhook(context: CommandContext, webhook: string): Promise<void> {
  const { rowCount } = await context
    .pool()
    .query('SELECT 1 FROM webhook WHERE id = $1 AND deleted_at IS NULL', [webhook]);
  if (rowCount === 0)
    throw new CommandError(`There is no webhook ${webhook}.`, 'Ids start with wh_; deleted ones get nothing.');
}

/** Until it has ended, or the time is over: then it goes on without the command. */
async function followRecovery(context: CommandContext, made: Recovery, timeoutSeconds: number): Promise<Recovery> {
  const deadline = Date.now() + timeoutSeconds * 1_000;
  let recovery = made;
  while (recovery.estado === 'en_curso' && Date.now() < deadline) {
    await sleep(lookEveryMs);
    recovery = (await readRecovery(context.pool(), made.webhookId, made.id)) ?? recovery;
  }
  return recovery;
}

function recoveryLine({ id, estado, total, resent }: Recovery): string {
  if (estado === 'simulada') return `${total} deliveries would be sent again.`;
  if (estado === 'en_curso') return `Recovery ${id}: ${resent} of ${total} are due again; the api goes on with it.`;
  const end = estado === 'terminada' ? 'has ended' : 'was cancelled';
  return `Recovery ${id} ${end}: ${resent} of ${total} were made due, ${total - resent} were left as they had become.`;
}

function statesOf(text: string): RecoverableState[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !recoverableStates.includes(name as RecoverableState));
  if (unknown !== undefined)
    throw new CommandError(`"${unknown}" is no state that is sent again.`, `States: ${recoverableStates.join(', ')}.`);
  return [...new Set(names as RecoverableState[])];
}
