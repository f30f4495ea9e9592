import type { Consumer, Kafka } from 'kafkajs';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { makeLoopMetrics } from '../../../../pipelines/consumers/batch.ts';
import { runLoop } from '../../../../pipelines/consumers/loop.ts';

/** A client whose consumer cannot leave its group until `leave` is called. */
function stuckKafka() {
  let leave = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const nothing = async () => undefined;
  const consumer = { events: {}, on: () => undefined, connect: nothing, subscribe: nothing, run: nothing };
  const kafka = {
    admin: () => ({ connect: nothing, disconnect: nothing }),
    consumer: () => ({ ...consumer, disconnect: () => left }) as unknown as Consumer,
  } as unknown as Kafka;
  return { kafka, leave };
}

async function startStuck(areBrokersAway: boolean) {
  const { kafka, leave } = stuckKafka();
  const loop = await runLoop({
    kafka,
    group: 'test',
    topics: [],
    schemas: { current: (_, value) => value },
    handle: async () => undefined,
    log: pino({ level: 'silent' }),
    metrics: makeLoopMetrics(new Registry()),
    onFailure: () => undefined,
    areBrokersAway: async () => areBrokersAway,
  });
  let isStopped = false;
  const stopped = loop.stop().then(() => {
    isStopped = true;
  });
  return { leave, stopped, isStopped: () => isStopped };
}

it('a stop does not wait for brokers that are away', async () => {
  const { stopped } = await startStuck(true);
  await stopped;
});

it('a stop waits until it has left the group if a broker answers', async () => {
  const { leave, stopped, isStopped } = await startStuck(false);
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  expect(isStopped()).toBe(false);
  leave();
  await stopped;
});
