import {
  type ActivityOptions,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';
import type { DeliveryActivities } from './activities.ts';
import { type DeliverInput, slowQueueName } from './messages.ts';

/** `makeWake` of pipelines/webhooks/work.ts sends this signal. */
const wakeSignal = defineSignal('wake');

const roundOptions: ActivityOptions = {
  // A round ends by itself within 30 s if PostgreSQL answers. Leases, not this timeout, keep two rounds from sending
  // the same delivery.
  startToCloseTimeout: '60 seconds',
  heartbeatTimeout: '20 seconds',
  // PostgreSQL may be down, or WEBHOOK_SECRET_KEYS may lack the key that opens the webhook's secret. The round is
  // retried until it works; no delivery is lost.
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
};
const ordinary = proxyActivities<DeliveryActivities>(roundOptions);
/** Rounds of slow receivers keep a worker's slots until requests time out. On this queue they delay only each other. */
const slow = proxyActivities<DeliveryActivities>({ ...roundOptions, taskQueue: slowQueueName });

/** The run counts its signals: it may receive only 10,000, and Temporal's advice to continue as new ignores them. */
const maxWakesPerRun = 1_000;
const maxRoundsPerRun = 300;

/**
 * Delivers a webhook's events. The workflow runs a round (the activity `deliverRound`), sleeps until a delivery is due
 * or a wake-up arrives, and runs the next round. It ends when no delivery will be due, for example after a pause. All
 * deliveries are in PostgreSQL. The workflow keeps only timers, the rate limit's state and whether the endpoint is
 * slow.
 */
export async function deliver(input: DeliverInput): Promise<void> {
  let wakes = 0;
  let seenWakes = 0;
  setHandler(wakeSignal, () => {
    wakes += 1;
  });
  let state: DeliverInput = input;
  for (let rounds = 1; ; rounds += 1) {
    // PostgreSQL already has the work that the signals so far announced, and the round that starts now reads it.
    seenWakes = wakes;
    const round = await (state.slow === true ? slow : ordinary).deliverRound(state);
    state = { webhookId: input.webhookId, rate: round.rate, ...(round.slow === true ? { slow: true } : {}) };
    if (round.nextInMs !== null && round.nextInMs > 0 && wakes === seenWakes) {
      await condition(() => wakes > seenWakes, round.nextInMs);
    } else if (round.nextInMs === null && wakes === seenWakes) {
      // No `await` may stand between the comparison of `wakes` and this return. If a signal arrives now, Temporal
      // rejects the end of the run and runs this code again, with the signal counted.
      return;
    }
    // No wake-up is lost when the workflow continues as new, because the next run starts with a round.
    if (wakes >= maxWakesPerRun || rounds >= maxRoundsPerRun) {
      await continueAsNew<typeof deliver>(state);
    }
  }
}
