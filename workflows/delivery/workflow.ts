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
  // A round ends by itself within 30 s. Leases, not this timeout, keep two rounds from sending the same delivery.
  startToCloseTimeout: '60 seconds',
  heartbeatTimeout: '20 seconds',
  // PostgreSQL may be away, or a key missing from the key ring: retry until it works. No delivery is lost meanwhile.
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
};
const ordinary = proxyActivities<DeliveryActivities>(roundOptions);
/** Receivers that let requests time out hold a slot all the time. On their own queue they slow only each other. */
const slow = proxyActivities<DeliveryActivities>({ ...roundOptions, taskQueue: slowQueueName });

/** The server's advice to continue as new does not count signals, and a run may receive 10,000 of them at most. */
const maxWakesPerRun = 1_000;
const maxRoundsPerRun = 300;

/**
 * Delivers a webhook's events: a round, then a sleep until something is due or a wake-up arrives, and so on until
 * nothing is due or the webhook is paused or deleted. All state is in PostgreSQL; the workflow only owns the timers and
 * the pace.
 */
export async function deliver(input: DeliverInput): Promise<void> {
  let wakes = 0;
  let seenWakes = 0;
  setHandler(wakeSignal, () => {
    wakes += 1;
  });
  let state: DeliverInput = input;
  for (let rounds = 1; ; rounds += 1) {
    // The work of every signal so far is in PostgreSQL already, and the round that starts now reads it.
    seenWakes = wakes;
    const round = await (state.slow === true ? slow : ordinary).deliverRound(state);
    state = { webhookId: input.webhookId, rate: round.rate, ...(round.slow === true ? { slow: true } : {}) };
    if (round.nextInMs !== null && round.nextInMs > 0 && wakes === seenWakes) {
      await condition(() => wakes > seenWakes, round.nextInMs);
    } else if (round.nextInMs === null && wakes === seenWakes) {
      // No await may stand between the comparison and this return. If a signal arrives now, the server rejects the
      // completion and runs this stretch again with the signal counted.
      return;
    }
    // The next run starts with a round, so continuing as new loses no wake-up.
    if (wakes >= maxWakesPerRun || rounds >= maxRoundsPerRun) {
      await continueAsNew<typeof deliver>(state);
    }
  }
}
