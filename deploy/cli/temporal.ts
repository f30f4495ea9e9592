import { type Client, ServiceError } from '@temporalio/client';
import { temporalBlock } from '../runtime/config.ts';
import { makeTemporal } from '../runtime/temporal.ts';
import { type CommandContext, CommandError } from './context.ts';
import type { Follow } from './publication-follow.ts';

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

export function followOf(context: CommandContext, client: Client, timeoutSeconds: number): Follow {
  const deadline = Date.now() + timeoutSeconds * 1000;
  return { pool: context.pool(), client, note: (text) => context.note(text), deadline };
}
