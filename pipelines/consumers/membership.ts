import type { Consumer } from 'kafkajs';
import type { StreamOffsets } from '../stream/kafka.ts';
import type { LoopMetrics } from './batch.ts';

/**
 * Knows which partitions this consumer holds. `epoch` is a number that grows whenever these partitions may have
 * changed. After a rebalance the client still passes batches that it fetched before. The loop must not commit a batch
 * that it began in an older epoch.
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

  /** Call this when a heartbeat was refused: the client notices the refusal only after all running batches are done. */
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
   * A partition with lag is stuck if for this time it commits nothing and starts no batch. While other partitions of
   * this process move, the limit is five times as long. Otherwise a partition whose turn comes late would count as
   * stuck: a fetch takes the partitions in random order, and the first one may fill the whole fetch.
   */
  noProgressMs: number;
  /** Partitions of the topic that this process holds now. */
  assigned: (topic: string) => readonly number[];
  /** When a batch of the partition was last started or tried again; undefined means never. */
  lastActivity: (topic: string, partition: number) => number | undefined;
  /** Whether the loop has stopped the partition at a record that cannot be decoded. */
  isStopped: (topic: string, partition: number) => boolean;
  /** @param patienceMs the limit that the partition passed, `noProgressMs` or five times that */
  onStuck: (topic: string, partition: number, lag: number, patienceMs: number) => void;
}

/**
 * Finds stuck partitions. It measures each partition's lag by the offsets that the broker reports. It does not trust
 * the client: after a rebalance or a loss of metadata, the client may stop consuming without an error.
 */
export class LagWatch {
  readonly #options: LagWatchOptions;
  /** For each topic/partition: its last committed offset, and the last time when that offset moved or the lag was 0. */
  readonly #seen = new Map<string, { committed: number; at: number }>();
  readonly #timer: NodeJS.Timeout;
  #busy = false;
  /** The last time when any partition of this process moved its committed offset. */
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
      // If the broker does not answer, no partition can be called stuck, so every partition's time starts again.
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
      if (!isStopped(topic, partition) && now - active > patienceMs) onStuck(topic, partition, lag, patienceMs);
    }
  }
}
