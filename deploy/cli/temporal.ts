import { type Client, ServiceError } from '@temporalio/client';
import { temporalBlock } from '../../pipelines/runtime/config.ts';
import { makeTemporal } from '../../pipelines/runtime/temporal.ts';
import { publicationQueue } from '../../workflows/publication/messages.ts';
import { type CommandContext, CommandError } from './context.ts';
import type { Follow } from './publication-follow.ts';

/** TASK_QUEUE_TYPE_WORKFLOW of the server's interface. */
const workflowTasks = 1;
const exitInterrupted = 130;

/** A client of the configuration's server; closed when the command ends. @throws CommandError when it does not answer */
export async function connectTemporal(context: CommandContext): Promise<Client> {
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

/** For a person who waits: says when nobody is there to do the work, and on Ctrl-C that it goes on. */
export async function followOf(context: CommandContext, client: Client, timeoutSeconds: number): Promise<Follow> {
  const deadline = Date.now() + timeoutSeconds * 1000;
  const leave = () => {
    context.note('The work goes on without this command. See it with: npx padron publications list');
    process.exit(exitInterrupted);
  };
  process.once('SIGINT', leave);
  context.onEnd(() => process.off('SIGINT', leave));
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: publicationQueue },
    taskQueueType: workflowTasks,
  });
  if (!pollers?.length) context.note('No worker runs: the work waits for one. `npm start` has one.');
  return { pool: context.pool(), client, note: (text) => context.note(text), deadline };
}
