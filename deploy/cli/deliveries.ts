import type { Command } from 'commander';
import {
  type Backlog,
  backlogByWebhook,
  type EndpointState,
  readBacklog,
  readEndpoint,
  type WebhookBacklog,
} from '../../pipelines/webhooks/backlog.ts';
import { pageDeliveries } from '../../pipelines/webhooks/delivery-log.ts';
import { limaTime } from '../../schemas/lima-time.ts';
import { wholeNumber } from './arguments.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';
import { registerRecoverCommand, registerResendCommand } from './deliveries-again.ts';

/** Deliveries shown of one endpoint. */
const shownDeliveries = 10;

/** `padron deliveries backlog|endpoint|resend|recover`: what stands to be sent, and sending it again. */
export function registerDeliveriesCommands(program: Command, context: CommandContext): void {
  const deliveries = program
    .command('deliveries')
    .description("Notices to customers' webhooks: what is due, how an endpoint stands, sending again.")
    .addHelpText('after', '\nExample:\n  $ npx padron deliveries backlog');
  registerBacklogCommand(deliveries, context);
  registerEndpointCommand(deliveries, context);
  registerResendCommand(deliveries, context);
  registerRecoverCommand(deliveries, context);
}

function registerBacklogCommand(deliveries: Command, context: CommandContext): void {
  deliveries
    .command('backlog')
    .description('What stands to be sent: in all, and by webhook, the one that has been due longest first.')
    .option('--limit <count>', 'webhooks at most', wholeNumber, 20)
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron deliveries backlog')
    .action(async (options: OutputOptions & { limit: number }) => {
      const backlog = await readBacklog(context.pool());
      const webhooks = await backlogByWebhook(context.pool(), options.limit);
      context.show(options, { ...backlog, webhooks }, [backlogLine(backlog), ...webhooks.map(webhookLine)]);
    });
}

function registerEndpointCommand(deliveries: Command, context: CommandContext): void {
  deliveries
    .command('endpoint')
    .description('How one webhook stands, and its last deliveries. Its URL is not shown: it may hold a secret.')
    .argument('<webhook>', 'id of the webhook')
    .option('--json', 'one JSON document on standard output')
    .addHelpText('after', '\nExample:\n  $ npx padron deliveries endpoint wh_3f…')
    .action(async (webhook: string, options: OutputOptions) => {
      const endpoint = await requireEndpoint(context, webhook);
      const last = await pageDeliveries(context.pool(), webhook, { after: null }, shownDeliveries);
      const documents = last.map(({ id, evento, estado, attempts, createdAt, nextAttemptAt }) => ({
        id,
        evento,
        estado,
        attempts,
        createdAt,
        nextAttemptAt,
      }));
      context.show(options, { ...endpoint, deliveries: documents }, [
        ...endpointLines(endpoint),
        ...documents.map(({ id, evento, estado, attempts, createdAt }) =>
          [limaTime(createdAt), id, evento, estado, `${attempts} attempts`].join('\t'),
        ),
      ]);
    });
}

/** @throws CommandError where there is none */
async function requireEndpoint(context: CommandContext, webhook: string): Promise<EndpointState> {
  const endpoint = await readEndpoint(context.pool(), webhook);
  if (endpoint === null) throw new CommandError(`There is no webhook ${webhook}.`, 'Ids start with wh_.');
  return endpoint;
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
