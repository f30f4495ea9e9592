import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { temporalBlock } from '../../pipelines/runtime/config.ts';
import { makeLazyTemporal } from '../../pipelines/runtime/temporal.ts';
import {
  createRecovery,
  leftOut,
  type RecoverableState,
  type Recovery,
  readRecovery,
  recoverableStates,
} from '../../pipelines/webhooks/recoveries.ts';
import { accountOfDelivery, type NotResent, resendDelivery } from '../../pipelines/webhooks/resend.ts';
import { makeWake } from '../../pipelines/webhooks/work.ts';
import { defaultTimeoutSeconds, instantOf, wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, exitStopped, type OutputOptions } from './context.ts';

/** Recoveries of one webhook under way at the same time, the customer's own among them. */
const maxRunning = 5;
const lookEveryMs = 500;

export function registerResendCommand(deliveries: Command, context: CommandContext): void {
  deliveries
    .command('resend')
    .description('Makes one delivery due now, under its id. Of a paused webhook it is held with the rest. Repeatable.')
    .argument('<delivery>', 'id of the delivery (X-Service-Delivery)')
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron deliveries resend en_5c…')
    .action(async (id: string, options: OutputOptions) => {
      const wake = wakeOf(context);
      const account = await accountOfDelivery(context.pool(), id);
      if (account === null) throw refusal(id, { ok: false, problem: 'not_found' });
      const resent = await resendDelivery(context.pool(), account, id);
      if (!resent.ok) throw refusal(id, resent);
      const { webhookId, estado } = resent;
      const woken = estado === 'pendiente' && (await wake(webhookId));
      context.show(options, { id, webhook: webhookId, estado }, [
        `Delivery ${id} of ${webhookId} is ${estado}.`,
        ...(estado === 'retenida' ? ['Its webhook is paused: it leaves when the customer resumes it.'] : []),
        ...(estado === 'pendiente' ? [woken ? 'Its worker was told.' : sweptSoon] : []),
      ]);
    });
}

function refusal(id: string, refused: NotResent): CommandError {
  switch (refused.problem) {
    case 'not_found':
      return new CommandError(`There is no delivery ${id}.`, 'It may be past its 13 months.');
    case 'cancelled':
      return new CommandError(`Delivery ${id} is cancelled.`, 'A correction took it back, or its webhook was deleted.');
    case 'taken_back':
      return new CommandError(
        `Delivery ${id} is not sent again: edition ${refused.by.edition} (${refused.by.fechaDato}) corrected what it says.`,
        'Whoever it had been sent to was sent the correction.',
      );
  }
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
      'Sends again what a webhook was not told since a time: counted first, then made due in chunks by the api, which wakes the worker.',
    )
    .argument('<webhook>', 'id of the webhook')
    .requiredOption(
      '--since <time>',
      'deliveries made from then: YYYY-MM-DD in Lima, or ISO 8601 with an offset',
      instantOf,
    )
    .option('--until <time>', 'deliveries made before then (default: now)', instantOf)
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
      const { since: from, until: before = null, states, dryRun = false } = options;
      await requireWebhook(context, webhook);
      const wanted = { from, before, states, isSimulated: dryRun };
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

function recoveryLine(recovery: Recovery): string {
  const { id, estado, total, resent } = recovery;
  if (estado === 'simulada')
    return `Up to ${total} deliveries would be sent again: what a correction took back is left.`;
  if (estado === 'en_curso') return `Recovery ${id}: ${resent} of ${total} are due again; the api goes on with it.`;
  const end = estado === 'terminada' ? 'has ended' : 'was cancelled';
  return `Recovery ${id} ${end}: ${resent} of ${total} were made due, ${leftOut(recovery)} were left: changed meanwhile, or corrected.`;
}

function statesOf(text: string): RecoverableState[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !recoverableStates.includes(name as RecoverableState));
  if (unknown !== undefined)
    throw new CommandError(`"${unknown}" is no state that is sent again.`, `States: ${recoverableStates.join(', ')}.`);
  return [...new Set(names as RecoverableState[])];
}

const wakeDeadlineMs = 3_000;
const settings = temporalBlock.partial({ TEMPORAL_ADDRESS: true });

/** What the worker's sweeper promises (workflows/delivery/sweeper.ts): nothing depends on the wake-up. */
const sweptSoon = 'A worker takes it up within half a minute.';

/**
 * Reads the settings at once, so that a wrong address is said before anything is changed.
 * @returns tells a webhook's workflow that there is work, as the api does; false: nobody was told, and if a server should have
 *   been, standard error says so
 * @throws CommandError when the address is no address
 */
function wakeOf(context: CommandContext): (webhookId: string) => Promise<boolean> {
  const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = context.configuration(settings);
  if (TEMPORAL_ADDRESS === undefined) return async () => false;
  return async (webhookId) => {
    const client = makeLazyTemporal(TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE);
    context.onEnd(() => client.connection.close());
    try {
      await makeWake(client, { inParallel: 1, deadlineMs: wakeDeadlineMs })([webhookId]);
      return true;
    } catch {
      context.note(`Temporal did not take the wake-up at ${TEMPORAL_ADDRESS}. ${sweptSoon}`);
      return false;
    }
  };
}
