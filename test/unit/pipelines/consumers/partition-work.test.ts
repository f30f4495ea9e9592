import type { Consumer, EachBatchPayload } from 'kafkajs';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { loopLimits, makeLoopMetrics } from '../../../../pipelines/consumers/batch.ts';
import { Membership } from '../../../../pipelines/consumers/membership.ts';
import { PartitionWork } from '../../../../pipelines/consumers/partition-work.ts';

const topic = 'register.padron_reducido.changes';

function makeWork() {
  const listeners = new Map<string, (event: unknown) => void>();
  const events = { GROUP_JOIN: 'join', REBALANCING: 'rebalancing', CRASH: 'crash', STOP: 'stop' };
  const on = (name: string, listener: (event: unknown) => void) => listeners.set(name, listener);
  const membership = new Membership({ events, on } as unknown as Consumer);
  const handled: string[] = [];
  const work = new PartitionWork(
    {
      kafka: {} as never,
      group: 'test',
      topics: [{ topic, register: 'padron_reducido' }],
      schemas: { current: (_, value) => value },
      handle: async (batch) => void handled.push(batch.firstOffset),
      log: pino({ level: 'silent' }),
      metrics: makeLoopMetrics(new Registry()),
      onFailure: () => undefined,
      limits: loopLimits,
    },
    membership,
  );
  const join = () => listeners.get('join')!({ payload: { memberAssignment: { [topic]: [0] } } });
  return { work, membership, handled, join };
}

function payload(): EachBatchPayload {
  const value = Buffer.from([0, 0, 0, 0, 7, 0]);
  return {
    batch: { topic, partition: 0, highWatermark: '1', messages: [{ offset: '0', value }] },
    heartbeat: async () => undefined,
    commitOffsetsIfNecessary: async () => undefined,
    resolveOffset: () => undefined,
    isStale: () => false,
    pause: () => () => undefined,
  } as unknown as EachBatchPayload;
}

const unexpected = (error: Error) => expect.fail(error.message);

it('a batch that comes after the membership was lost is not handled and makes the client join again', async () => {
  const { work, membership, handled, join } = makeWork();
  join();
  await work.take(payload(), unexpected);
  expect(handled).toEqual(['0']);

  membership.lose();
  // If this returned, the client would fetch the same batch again at once, for ever. It joins only on this type.
  await expect(work.take(payload(), unexpected)).rejects.toMatchObject({ type: 'REBALANCE_IN_PROGRESS' });
  expect(handled).toEqual(['0']);

  join();
  await work.take(payload(), unexpected);
  expect(handled).toEqual(['0', '0']);
});
