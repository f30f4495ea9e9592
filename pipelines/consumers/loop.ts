import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { within } from '../runtime/lifecycle.ts';
import { readRecordsFast } from '../stream/fetched-records.ts';
import { connectOffsets, isAway } from '../stream/kafka.ts';
import { type LoopLimits, type LoopOptions, loopLimits } from './batch.ts';
import { LagWatch, Membership } from './membership.ts';
import { PartitionWork } from './partition-work.ts';

export type RunningLoop = Awaited<ReturnType<typeof runLoop>>;

class StuckPartition extends Error {
  override name = 'StuckPartition';
  readonly code = 'partition_stuck';
}

/** Starts to consume the topics. Resolves when the client has started, even if it has no partitions yet. */
export async function runLoop(options: LoopOptions) {
  const { kafka, group, topics, log, metrics } = options;
  const limits = { ...loopLimits, ...options.limits };
  const names = topics.map(({ topic }) => topic);
  readRecordsFast();
  const offsets = await connectOffsets(kafka);
  const consumer = makeConsumer(kafka, group, limits);
  const membership = new Membership(consumer);
  const work = new PartitionWork({ ...options, limits }, membership);
  let stopping = false;
  const fail = (error: Error) => {
    if (!stopping) options.onFailure(error);
  };
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    // If `restart` is true, the client begins again by itself. If it is false, the client has stopped for good, even
    // after some errors of a broker that went away.
    if (payload.restart || stopping) return;
    if (isAway(payload.error)) void restart();
    else fail(payload.error);
  });
  const start = async () => {
    await consumer.connect();
    await consumer.subscribe({ topics: names, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: limits.concurrentPartitions,
      eachBatch: (payload: EachBatchPayload) => work.take(payload, fail),
    });
  };
  /** Goes on until the brokers are back. The reason is in the log, and /readyz says that the group is not joined. */
  const restart = async (): Promise<void> => {
    await sleep(limits.retryFirstMs);
    if (stopping) return;
    log.warn({ group }, 'the consumer stopped because brokers were away, and begins again');
    try {
      await start();
      if (stopping) await consumer.disconnect();
    } catch (error) {
      if (isAway(error)) return restart();
      fail(error as Error);
    }
  };
  // A broker that goes away just now must not end the process: its supervisor would start it into the same absence.
  await start().catch((error) => (isAway(error) ? void restart() : Promise.reject(error)));
  const lagWatch = new LagWatch({
    offsets,
    group,
    topics: names,
    metrics,
    intervalMs: 5_000,
    noProgressMs: limits.noProgressMs,
    assigned: (topic) => membership.assigned(topic),
    lastActivity: (topic, partition) => work.lastActivity(topic, partition),
    isStopped: (topic, partition) => work.isStopped(topic, partition),
    onStuck: (topic, partition, lag, patienceMs) => {
      log.error({ group, topic, partition, lag }, 'a partition makes no progress');
      fail(new StuckPartition(`${topic}/${partition} has a lag of ${lag} and made no progress for ${patienceMs} ms`));
    },
  });
  return {
    /** Returns null while the loop consumes, otherwise a text that says what it waits for. */
    ready: () => (membership.joined() ? work.problem() : `group ${group}: not joined yet`),
    /** Returns the partitions (`topic/partition`) that have stopped at a record that cannot be decoded. */
    stoppedPartitions: () => work.stopped(),
    /**
     * Lets running batches finish and commit, then leaves the group. A batch that takes too long is abandoned, and so
     * is a rebalance that waits for other members. While the brokers are away nothing is waited for. Then another
     * consumer begins with the first record that was not committed, once Kafka has noticed that this one is gone.
     */
    stop: async () => {
      stopping = true;
      lagWatch.stop();
      work.stop();
      await within(limits.stopMs, Promise.race([consumer.disconnect(), untilAway(options)])).catch((error: unknown) =>
        log.warn({ group, err: error }, 'left without waiting for the last batches'),
      );
      await offsets.close();
    },
  };
}

/** Resolves if the brokers are away, so that nothing can be committed. Otherwise it never settles. */
async function untilAway({ areBrokersAway }: LoopOptions): Promise<void> {
  const isAway = await areBrokersAway?.();
  if (isAway !== true) await new Promise(() => {});
}

function makeConsumer(kafka: Kafka, group: string, limits: LoopLimits): Consumer {
  return kafka.consumer({
    groupId: group,
    allowAutoTopicCreation: false,
    maxBytesPerPartition: limits.maxBytesPerPartition,
    maxBytes: limits.maxBytesPerFetch,
    minBytes: limits.minBytes,
    maxWaitTimeInMs: limits.maxWaitMs,
    sessionTimeout: limits.sessionTimeoutMs,
    rebalanceTimeout: limits.rebalanceTimeoutMs,
    heartbeatInterval: limits.heartbeatMs,
    // A topic may get more partitions. The client looks for new ones at least once in so many milliseconds.
    metadataMaxAge: 60_000,
    readUncommitted: false,
    retry: { retries: 8, initialRetryTime: 200, maxRetryTime: 5_000, factor: 0.2, multiplier: 2 },
  });
}
