import { setTimeout as sleep } from 'node:timers/promises';
import { recoverBy, resendBy } from '../../api/operators/deliveries.ts';
import { temporalBlock } from '../../pipelines/runtime/config.ts';
import { makeLazyTemporal, temporalAccess } from '../../pipelines/runtime/temporal.ts';
import {
  type Backlog,
  backlogByWebhook,
  type EndpointState,
  readBacklog,
  readEndpoint,
  type WebhookBacklog,
} from '../../pipelines/webhooks/backlog.ts';
import { pageDeliveries } from '../../pipelines/webhooks/delivery-log.ts';
import {
  leftOut,
  maxRunningRecoveries,
  type RecoverableState,
  type Recovery,
  readRecovery,
  recoverableStates,
} from '../../pipelines/webhooks/recoveries.ts';
import type { NotResent } from '../../pipelines/webhooks/resend.ts';
import { makeWake } from '../../pipelines/webhooks/work.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { instantOf, type PadronCommand } from './arguments.ts';
import { type CommandContext, CommandError, exitStopped, type OutputOptions } from './context.ts';

/** Number of a webhook's last deliveries that `deliveries endpoint` shows. */
const shownDeliveries = 10;
const recoveryPollMs = 500;

/** Adds `padron deliveries backlog|endpoint|resend|recover`, to see what is still to be sent, and to send it again. */
export function addDeliveriesCommands(program: PadronCommand, context: CommandContext): void {
  const deliveries = program
    .command('deliveries')
    .description("Deliveries to customers' webhooks: what is due, how an endpoint stands, sending again.")
    .examples('deliveries backlog');

  deliveries
    .command('backlog')
    .description('What stands to be sent: in all, and by webhook, the one that has been due longest first.')
    .limitOption(20, 'webhooks at most')
    .examples('deliveries backlog')
    .action(async (options: OutputOptions & { limit: number }) => {
      const backlog = await readBacklog(context.pool());
      const webhooks = await backlogByWebhook(context.pool(), options.limit);
      context.show(options, { ...backlog, webhooks }, [backlogLine(backlog), ...webhooks.map(webhookLine)]);
    });

  deliveries
    .command('endpoint')
    .description('How one webhook stands, and its last deliveries. Its URL is not shown: it may hold a secret.')
    .argument('<webhook>', 'id of the webhook')
    .examples('deliveries endpoint wh_3f…')
    .action((webhook: string, options: OutputOptions) => showEndpoint(context, webhook, options));

  deliveries
    .command('resend')
    .description('Makes one delivery due now, under its id. Of a paused webhook it is held with the rest. Repeatable.')
    .argument('<delivery>', 'id of the delivery (X-Service-Delivery)')
    .examples('deliveries resend en_5c…')
    .action((id: string, options: OutputOptions) => resend(context, id, options));

  addRecoverCommand(deliveries, context);
}

async function showEndpoint(context: CommandContext, webhook: string, options: OutputOptions): Promise<void> {
  const endpoint = await readEndpoint(context.pool(), webhook);
  if (endpoint === null) throw new CommandError(`There is no webhook ${webhook}.`, 'Ids start with wh_.');
  const last = await pageDeliveries(context.pool(), webhook, { after: null }, shownDeliveries);
  const deliveries = last.map(({ id, evento, estado, attempts, createdAt, nextAttemptAt }) => {
    return { id, evento, estado, attempts, createdAt, nextAttemptAt };
  });
  const lines = deliveries.map(({ id, evento, estado, attempts, createdAt }) =>
    [limaTime(createdAt), id, evento, estado, `${attempts} attempts`].join('\t'),
  );
  context.show(options, { ...endpoint, deliveries }, [...endpointLines(endpoint), ...lines]);
}

function backlogLine({ due, waiting, inFlight, held, oldestDueSeconds, webhooksPaused }: Backlog): string {
  const oldest = oldestDueSeconds === null ? '' : `, the oldest for ${Math.round(oldestDueSeconds)} s`;
  return `${due} due${oldest}; ${inFlight} under way; ${waiting} wait for a retry; ${held} held; ${webhooksPaused} webhooks paused`;
}

function webhookLine({ webhookId, accountId, estado, due, waiting, inFlight, held, oldestDueSeconds }: WebhookBacklog) {
  const oldest = oldestDueSeconds === null ? '' : `oldest ${Math.round(oldestDueSeconds)} s`;
  const counts = [`due ${due}`, `under way ${inFlight}`, `retry ${waiting}`, `held ${held}`];
  return [webhookId, `account ${accountId}`, estado, ...counts, oldest].join('\t').trimEnd();
}

function endpointLines(endpoint: EndpointState): string[] {
  const { estado, pausedBy, failuresInARow, firstFailureAt, lastDeliveredAt, workedOnUntil, deletedAt } = endpoint;
  const failures = firstFailureAt === null ? 'none' : `${failuresInARow}, the first at ${limaTime(firstFailureAt)}`;
  return [
    webhookLine(endpoint),
    `state ${deletedAt === null ? estado : 'deleted'}${pausedBy === null ? '' : `, paused by ${pausedBy}`}`,
    `failures in a row: ${failures}; last delivered ${lastDeliveredAt === null ? 'never' : limaTime(lastDeliveredAt)}`,
    `limits ${endpoint.rateLimitPerSecond} a second, ${endpoint.inFlightLimit} under way`,
    workedOnUntil === null ? 'no worker looks at it now' : `a worker looks at it until ${limaTime(workedOnUntil)}`,
  ];
}

/**
 * The worker's sweeper (workflows/delivery/worker.ts) finds due work by itself. So a lost wake-up delays the work only
 * by the time in this text.
 */
const sweptSoon = 'A worker takes it up within half a minute.';

async function resend(context: CommandContext, id: string, options: OutputOptions): Promise<void> {
  const wake = wakeOf(context);
  const resent = await resendBy(context.pool(), context.actor(), id);
  if (!resent.ok) throw refusal(id, resent);
  const { webhookId, estado } = resent;
  const lines = [`Delivery ${id} of ${webhookId} is ${estado}.`];
  if (estado === 'retenida') lines.push('Its webhook is paused: it leaves when the customer resumes it.');
  if (estado === 'pendiente') lines.push((await wake(webhookId)) ? 'Its worker was woken.' : sweptSoon);
  context.show(options, { id, webhook: webhookId, estado }, lines);
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

const wakeDeadlineMs = 3_000;
const wakeSettings = temporalBlock.partial({ TEMPORAL_ADDRESS: true });

/**
 * Makes the function that wakes a webhook's workflow, as the api does. The settings are read at once, so that a wrong
 * address fails the command before it changes anything.
 * @returns the function, which resolves to false when no Temporal is configured. When Temporal does not answer, it also
 *   resolves to false and writes a note on standard error.
 * @throws CommandError when the configured address is not an address
 */
function wakeOf(context: CommandContext): (webhookId: string) => Promise<boolean> {
  const config = context.configuration(wakeSettings);
  const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = config;
  if (TEMPORAL_ADDRESS === undefined) return async () => false;
  return async (webhookId) => {
    const client = makeLazyTemporal(temporalAccess(TEMPORAL_ADDRESS, config), TEMPORAL_NAMESPACE);
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

interface RecoverOptions extends OutputOptions {
  since: Date;
  until?: Date;
  states: RecoverableState[];
  dryRun?: boolean;
  wait?: boolean;
  timeout: number;
}

function addRecoverCommand(deliveries: PadronCommand, context: CommandContext): void {
  const sinceMeaning = 'deliveries made from then: YYYY-MM-DD in Lima, or ISO 8601 with an offset';
  const statesMeaning = `of ${recoverableStates.join(', ')}, separated by commas`;
  deliveries
    .command('recover')
    .description(
      'Sends again what a webhook did not get since a time: counted first, then made due in chunks by the api, which wakes the worker.',
    )
    .argument('<webhook>', 'id of the webhook')
    .requiredOption('--since <time>', sinceMeaning, instantOf)
    .option('--until <time>', 'deliveries made before then (default: now)', instantOf)
    .option('--states <list>', statesMeaning, statesOf, ['agotada', 'descartada'])
    .option('--dry-run', 'only counts')
    .waitOptions('waits until all are due', 'how long --wait waits')
    .examples(
      'deliveries recover wh_3f… --since 2026-11-20 --dry-run',
      'deliveries recover wh_3f… --since 2026-11-20T09:00:00-05:00 --wait',
    )
    .action((webhook: string, options: RecoverOptions) => recover(context, webhook, options));
}

async function recover(context: CommandContext, webhook: string, options: RecoverOptions): Promise<void> {
  const { since: from, until: before = null, states, dryRun = false } = options;
  const endpoint = await readEndpoint(context.pool(), webhook);
  if (endpoint === null || endpoint.deletedAt !== null)
    throw new CommandError(`There is no webhook ${webhook}.`, 'Ids start with wh_; deleted ones get nothing.');
  const made = await recoverBy(context.pool(), context.actor(), webhook, { from, before, states, isSimulated: dryRun });
  if (made === null)
    throw new CommandError(`${webhook} has ${maxRunningRecoveries} recoveries under way.`, 'Wait until one has ended.');
  const recovery = options.wait && !dryRun ? await followRecovery(context, made, options.timeout) : made;
  if (recovery.estado === 'cancelada') context.exitCode = exitStopped;
  const { id, estado, total, resent } = recovery;
  context.show(options, { id, webhook, estado, total, resent }, recoveryLine(recovery));
}

/**
 * Waits until the recovery has ended or the time is over. A recovery that has not ended goes on without this command,
 * because the api sends the deliveries.
 */
async function followRecovery(context: CommandContext, made: Recovery, timeoutSeconds: number): Promise<Recovery> {
  const deadline = Date.now() + timeoutSeconds * 1_000;
  let recovery = made;
  while (recovery.estado === 'en_curso' && Date.now() < deadline) {
    await sleep(recoveryPollMs);
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
