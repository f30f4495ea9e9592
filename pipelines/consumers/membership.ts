import type { Consumer } from 'kafkajs';
import type { StreamOffsets } from '../stream/kafka.ts';
import type { LoopMetrics } from './batch.ts';

/**
 * The partitions that this consumer holds, and an epoch that grows whenever they may have changed. After a rebalance
 * the client goes on with batches that it fetched before; a batch of an older epoch must not commit.
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

  /** Called when a heartbeat or a commit was refused. The client notices only after all running batches are done. */
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

export interface LagWatchOptions {
  offsets: StreamOffsets;
  group: string;
  topics: readonly string[];
  metrics: LoopMetrics;
  intervalMs: number;
  /**
   * A partition with lag is stuck if it neither commits nor starts a batch for so long. While other partitions of this
   * process move it takes five times as long: a fetch takes partitions in random order and may be full with the first.
   */
  noProgressMs: number;
  /** Partitions of the topic that this process holds now. */
  assigned: (topic: string) => readonly number[];
  /** When a batch of the partition was last started or tried again; undefined means never. */
  lastActivity: (topic: string, partition: number) => number | undefined;
  /** Whether the partition stands still on purpose. */
  isStopped: (topic: string, partition: number) => boolean;
  onStuck: (topic: string, partition: number, lag: number) => void;
}

/**
 * Measures the lag by the broker's own offsets. The client is known to stop consuming without an error after a
 * rebalance or a loss of metadata, so its own state cannot be trusted.
 */
export class LagWatch {
  readonly #options: LagWatchOptions;
  /** By topic/partition: the last committed offset, and when it last moved or had no lag. */
  readonly #seen = new Map<string, { committed: number; at: number }>();
  readonly #timer: NodeJS.Timeout;
  #busy = false;
  /** When any partition of this process last moved. */
  #movedAt = 0;

  constructor(options: LagWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#tick(), options.intervalMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #tick(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (const topic of this.#options.topics) await this.#measure(topic);
    } catch {
      // Without the broker's answer no partition can be called stuck, so all times start anew.
      this.#seen.clear();
    } finally {
      this.#busy = false;
    }
  }

  async #measure(topic: string): Promise<void> {
    const { offsets, group, metrics, noProgressMs, assigned, lastActivity, isStopped, onStuck } = this.#options;
    const [ends, committed] = await Promise.all([offsets.ends(topic), offsets.committed(group, topic)]);
    const now = Date.now();
    const mine = new Set(assigned(topic));
    for (const [partition, end] of ends.entries()) {
      const key = `${topic}/${partition}`;
      const labels = { group, topic, partition: String(partition) };
      if (!mine.has(partition)) {
        this.#seen.delete(key);
        metrics.lag.remove(labels);
        continue;
      }
      const at = committed[partition] ?? 0;
      const lag = Math.max(0, end - at);
      metrics.lag.set(labels, lag);
      const before = this.#seen.get(key);
      if (before === undefined || before.committed !== at || lag === 0) {
        if (before !== undefined && before.committed !== at) this.#movedAt = now;
        this.#seen.set(key, { committed: at, at: now });
        continue;
      }
      const active = Math.max(before.at, lastActivity(topic, partition) ?? 0);
      const patienceMs = now - this.#movedAt < noProgressMs ? noProgressMs * 5 : noProgressMs;
      if (!isStopped(topic, partition) && now - active > patienceMs) onStuck(topic, partition, lag);
    }
  }
}
