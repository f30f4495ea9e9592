import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type EachBatchPayload } from 'kafkajs';
import type { RegisterName } from '../../schemas/registers.ts';
import { UndecodableRecord } from '../changes/errors.ts';
import { passingOf } from '../runtime/passing-errors.ts';
import { failSpan, inSpan } from '../runtime/tracing/span.ts';
import {
  type ChangeBatch,
  type ChangeMessage,
  editionsOf,
  type LoopLimits,
  type LoopOptions,
  spanOptions,
} from './batch.ts';
import type { Membership } from './membership.ts';

type Messages = ChangeBatch['messages'];
type Outcome = 'handled' | 'left' | UndecodableRecord;

type WorkOptions = LoopOptions & { limits: LoopLimits };

/** Handles a loop's batches: runs the handler, repeats it while ClickHouse or PostgreSQL fails, and commits. */
export class PartitionWork {
  readonly #options: WorkOptions;
  readonly #membership: Membership;
  readonly #registers: ReadonlyMap<string, RegisterName>;
  readonly #active = new Map<string, number>();
  readonly #stopped = new Set<string>();
  readonly #failing = new Map<string, string>();
  readonly #ending = new AbortController();
  #waitedAt = 0;

  constructor(options: WorkOptions, membership: Membership) {
    this.#options = options;
    this.#membership = membership;
    this.#registers = new Map(options.topics.map(({ topic, register }) => [topic, register]));
  }

  /**
   * Returns the later of two times, in milliseconds since 1970, from which `LagWatch` sees that nothing is stuck:
   * - when a batch of the partition was last begun or tried again;
   * - when any partition last waited, in its handler or for an engine that is away, because meanwhile the client fetches
   *   nothing for any partition.
   */
  lastActivity(topic: string, partition: number): number {
    return Math.max(this.#waitedAt, this.#active.get(keyOf(topic, partition)) ?? 0);
  }
  isStopped(topic: string, partition: number): boolean {
    return this.#stopped.has(keyOf(topic, partition));
  }
  stopped(): readonly string[] {
    return [...this.#stopped];
  }
  /** Returns the first partition whose batches fail now, with the name of the error; null if no partition fails. */
  problem(): string | null {
    return this.#failing.values().next().value ?? null;
  }
  /**
   * Ends the waits between two tries. A handler that waits ends too, because its heartbeat throws. A running try may
   * finish.
   */
  stop(): void {
    this.#ending.abort();
  }

  /** Handles one batch that the client fetched. `fail` gets an error that neither the client nor a heartbeat caused. */
  async take(payload: EachBatchPayload, fail: (error: Error) => void): Promise<void> {
    const { topic, partition, messages } = payload.batch;
    const membership = this.#membership;
    if (messages.length === 0 || this.isStopped(topic, partition)) return;
    // A fetch brings several batches. Those that a stop finds not begun are left to the next consumer.
    if (this.#ending.signal.aborted) return;
    // After a failed heartbeat the client still passes batches that it fetched before. They must not be begun. Only a
    // protocol error makes the client join the group again. If the heartbeat's connection broke, the client gets no
    // protocol error by itself and would fetch these batches for ever. So we throw a protocol error.
    if (!membership.joined()) throw new JoinAgain();
    const epoch = membership.epoch();
    let refused: unknown;
    const heartbeat = async () => {
      try {
        await payload.heartbeat();
      } catch (error) {
        refused = error;
        membership.lose();
        throw error;
      }
    };
    const timer = setInterval(() => void heartbeat().catch(() => {}), this.#options.limits.heartbeatMs);
    try {
      await this.#work(payload, {
        heartbeat: async () => {
          if (this.#ending.signal.aborted) throw new LoopEnding();
          // Only a handler that waits on purpose calls this; the timer above sends the regular heartbeats. While one
          // handler waits, the client fetches nothing for any partition. So the wait counts as activity of all
          // partitions, and none of them looks stuck.
          this.#waitedAt = Date.now();
          return heartbeat();
        },
        isStale: () => membership.epoch() !== epoch || payload.isStale(),
      });
    } catch (error) {
      const isOfClient = error instanceof Error && error.name.startsWith('KafkaJS');
      if (refused === undefined && !isOfClient) fail(error as Error);
      throw error;
    } finally {
      clearInterval(timer);
    }
    // Kafka refused a heartbeat: this member was evicted, or the group rebalances. The client joins the group again
    // when it gets its own error back.
    if (refused !== undefined) throw refused;
  }

  async #work(payload: EachBatchPayload, held: Pick<ChangeBatch, 'heartbeat' | 'isStale'>): Promise<void> {
    const { topic, partition } = payload.batch;
    const register = this.#registers.get(topic)!;
    const messages = payload.batch.messages as Messages;
    let stopAt: UndecodableRecord | undefined;
    for (let good = before(messages, stopAt); good.length > 0; good = before(good, stopAt)) {
      const batch = {
        register,
        topic,
        partition,
        firstOffset: good[0]!.offset,
        lastOffset: good.at(-1)!.offset,
        messages: good,
        ...held,
      };
      const outcome = await this.#handleAndCommit(payload, batch);
      if (outcome === 'left') return;
      if (outcome === 'handled') break;
      // The next round handles and commits only the records before the bad one. Then the partition stands still.
      stopAt = outcome;
    }
    if (stopAt !== undefined) this.#standStill(payload, stopAt);
  }

  #handleAndCommit(payload: EachBatchPayload, batch: ChangeBatch): Promise<Outcome> {
    const { group } = this.#options;
    return inSpan(`process ${batch.topic}`, spanOptions(group, batch), async (span) => {
      if (span.isRecording()) span.setAttributes(editionsOf(batch));
      const began = performance.now();
      const outcome = await this.#handle(batch);
      if (outcome === 'handled') await this.#commit(payload, batch, began);
      span.setAttribute('padron.committed', outcome === 'handled');
      if (outcome instanceof UndecodableRecord) failSpan(span, 'undecodable_record');
      return outcome;
    });
  }

  /**
   * Tries until the batch is handled. Returns `left` if the partition was taken away or the process stops. The loop
   * must then not commit the batch. Returns the error if a record cannot be decoded.
   * @throws other errors that cannot be retried
   */
  async #handle(batch: ChangeBatch): Promise<Outcome> {
    const { group, handle, limits, log, metrics } = this.#options;
    const { topic, partition } = batch;
    const key = keyOf(topic, partition);
    let refusals = 0;
    for (let attempt = 1, waitMs = limits.retryFirstMs; ; attempt += 1) {
      this.#active.set(key, Date.now());
      try {
        await handle({ ...batch, messages: await this.#inCurrentSchema(batch) });
        this.#failing.delete(key);
        if (!batch.isStale()) return 'handled';
        log.warn({ group, topic, partition }, 'batch not committed: partition was taken away');
        return 'left';
      } catch (error) {
        if (error instanceof UndecodableRecord) return error;
        if (batch.isStale() || error instanceof LoopEnding) return 'left';
        const passing = passingOf(error);
        refusals = passing === 'refused' ? refusals + 1 : 0;
        if (passing === null || refusals > limits.refusalsInARow) throw error;
        metrics.retries.inc({ group, topic, cause: passing });
        if (passing === 'away') this.#waitedAt = Date.now();
        // An error's message may quote rows, so only its name and its advice to operators are shown.
        const { name, advice } = error as Error & { advice?: string };
        this.#failing.set(key, [key, name, ...(advice === undefined ? [] : [advice])].join(': '));
        log.warn({ group, topic, partition, attempt, err: error }, 'batch failed');
        await sleep(waitMs, undefined, { signal: this.#ending.signal }).catch(() => {});
        // Nothing was committed, so the next consumer of the partition begins with this batch.
        if (batch.isStale() || this.#ending.signal.aborted) return 'left';
        waitMs = Math.min(waitMs * 2, limits.retryMostMs);
      }
    }
  }

  /** If the process dies before this commit, the batch is repeated. A commit before the work could lose the batch. */
  async #commit(payload: EachBatchPayload, batch: ChangeBatch, began: number): Promise<void> {
    const { group, log, metrics } = this.#options;
    const { register, topic, partition, firstOffset, lastOffset, messages } = batch;
    const handled = performance.now();
    const next = String(BigInt(lastOffset) + 1n);
    await payload.commitOffsetsIfNecessary({ topics: [{ topic, partitions: [{ partition, offset: next }] }] });
    payload.resolveOffset(lastOffset);
    const done = performance.now();
    metrics.rows.inc({ group, topic }, messages.length);
    metrics.batchSeconds.observe({ group, topic }, (done - began) / 1000);
    log.info(
      {
        group,
        register,
        topic,
        partition,
        firstOffset,
        lastOffset,
        rows: messages.length,
        handleMs: Math.round(handled - began),
        commitMs: Math.round(done - handled),
        lag: Number(BigInt(payload.batch.highWatermark) - BigInt(next)),
      },
      'batch committed',
    );
  }

  /** Returns the records in the current schema. If all of them have it, as nearly always, it returns the same list. */
  async #inCurrentSchema({ register, messages }: ChangeBatch): Promise<Messages> {
    const { schemas } = this.#options;
    let read: ChangeMessage[] | undefined;
    for (const [index, message] of messages.entries()) {
      const { offset, value } = message;
      // A tombstone is a record without a value. This product writes no tombstones.
      if (value === null) throw new UndecodableRecord('no value', offset);
      try {
        const current = schemas.current(register, value);
        if (current === value) continue;
        read ??= [...messages];
        read[index] = { ...message, ...(await current) };
      } catch (error) {
        if (error instanceof UndecodableRecord) throw error.at(offset);
        throw error;
      }
    }
    return read ?? messages;
  }

  /** Stops this partition only. A skipped record would leave a wrong state that no later edition repairs. */
  #standStill(payload: EachBatchPayload, error: UndecodableRecord): void {
    const { group, log, metrics } = this.#options;
    const { topic, partition } = payload.batch;
    this.#stopped.add(keyOf(topic, partition));
    payload.pause();
    metrics.stopped.set({ group, topic, partition: String(partition) }, 1);
    log.error(
      { group, topic, partition, offset: error.offset, err: error },
      'partition stopped: a record cannot be decoded',
    );
  }
}

/** Makes the client join the group again. The client does so only for its own protocol errors. */
class JoinAgain extends kafkajs.KafkaJSProtocolError {
  override readonly type = 'REBALANCE_IN_PROGRESS';
  constructor() {
    super('the membership was lost with a heartbeat');
  }
}

/** A handler's heartbeat throws this when the process stops. The batch is not committed and will be read again. */
class LoopEnding extends Error {
  override name = 'LoopEnding';
}

function keyOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

function before(messages: Messages, bad: UndecodableRecord | undefined): Messages {
  if (bad === undefined) return messages;
  const index = messages.findIndex(({ offset }) => offset === bad.offset);
  // If the error has no offset, it is not known which record is bad, so no record may be committed.
  return messages.slice(0, Math.max(0, index));
}
