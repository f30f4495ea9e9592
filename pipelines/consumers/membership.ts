import type { Consumer } from 'kafkajs';

/**
 * What this consumer holds, and a number that grows whenever that may have changed. The client goes on running batches
 * it had fetched before a rebalance: whoever holds an older number must not commit.
 */
export class Membership {
  #epoch = 0;
  #assignment: Record<string, number[]> | undefined;

  constructor(consumer: Consumer) {
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      this.#epoch += 1;
      this.#assignment = payload.memberAssignment;
    });
    for (const event of [consumer.events.REBALANCING, consumer.events.CRASH, consumer.events.STOP] as const) {
      consumer.on(event, () => this.lose());
    }
  }

  /** A heartbeat or a commit was refused: the client learns of it only when all running batches are done. */
  lose(): void {
    this.#epoch += 1;
    this.#assignment = undefined;
  }

  epoch(): number {
    return this.#epoch;
  }

  joined(): boolean {
    return this.#assignment !== undefined;
  }

  assigned(topic: string): readonly number[] {
    return this.#assignment?.[topic] ?? [];
  }
}
