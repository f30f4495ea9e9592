import { temporalBlock } from '../../pipelines/runtime/config.ts';
import { makeLazyTemporal } from '../../pipelines/runtime/temporal.ts';
import { makeWake } from '../../pipelines/webhooks/work.ts';
import type { CommandContext } from './context.ts';

const wakeDeadlineMs = 3_000;
const settings = temporalBlock.partial({ TEMPORAL_ADDRESS: true });

/** What the worker's sweeper promises (workflows/delivery/sweeper.ts): nothing depends on the wake-up. */
export const sweptSoon = 'A worker takes it up within half a minute.';

/**
 * Reads the settings at once, so that a wrong address is said before anything is changed.
 * @returns tells a webhook's workflow that there is work, as the api does; false: nobody was told, and if a server should have
 *   been, standard error says so
 * @throws CommandError when the address is no address
 */
export function wakeOf(context: CommandContext): (webhookId: string) => Promise<boolean> {
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
