import {
  type ActivityOptions,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';
import type { DeliveryActivities } from './activities.ts';
import { type DeliverInput, slowQueueName, wakeSignalName } from './messages.ts';

export const wakeSignal = defineSignal(wakeSignalName);

const roundOptions: ActivityOptions = {
  // A round ends by itself within 30 s; its leases are what keeps two from sending the same delivery.
  startToCloseTimeout: '60 seconds',
  heartbeatTimeout: '20 seconds',
  // PostgreSQL away, or a key missing from the ring: tried until it works. Nothing is lost meanwhile.
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
};
const ordinary = proxyActivities<DeliveryActivities>(roundOptions);
/** Receivers that let every request run into its timeout hold a slot all the time: they take them from each other alone. */
const slow = proxyActivities<DeliveryActivities>({ ...roundOptions, taskQueue: slowQueueName });

/** Signals are not in the server's own advice to continue as new, and a run takes 10,000 of them at most. */
const maxWakesPerRun = 1_000;
const maxRoundsPerRun = 300;

/**
 * Works a webhook's deliveries: a round, then sleep until something is due or a wake-up, and so on until nothing is due or
 * the webhook is paused or deleted. PostgreSQL is the only memory; this owns the timers and the pace.
 */
export async function deliver(input: DeliverInput): Promise<void> {
  let wakes = 0;
  let seenWakes = 0;
  setHandler(wakeSignal, () => {
    wakes += 1;
  });
  let state: DeliverInput = input;
  for (let rounds = 1; ; rounds += 1) {
    // Whatever was signalled until here is in PostgreSQL already: the round that starts now reads it.
    seenWakes = wakes;
    const round = await (state.slow === true ? slow : ordinary).deliverRound(state);
    state = { webhookId: input.webhookId, rate: round.rate, ...(round.slow === true ? { slow: true } : {}) };
    if (round.nextInMs !== null && round.nextInMs > 0 && wakes === seenWakes) {
      await condition(() => wakes > seenWakes, round.nextInMs);
    } else if (round.nextInMs === null && wakes === seenWakes) {
      // No await between the comparison and this return: a signal that arrives now makes the server refuse the
      // completion and run this stretch again, with the signal seen.
      return;
    }
    // The next run starts with a round, so a wake-up that was not seen yet is not lost by starting anew.
    if (wakes >= maxWakesPerRun || rounds >= maxRoundsPerRun) {
      await continueAsNew<typeof deliver>(state);
    }
  }
}
