import type { Consumer, EachBatchPayload } from 'kafkajs';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { type BatchHandler, loopLimits, makeLoopMetrics } from '../../../../pipelines/consumers/batch.ts';
import { Membership } from '../../../../pipelines/consumers/membership.ts';
import { PartitionWork } from '../../../../pipelines/consumers/partition-work.ts';

const topic = 'register.padron_reducido.changes';

function makeWork(handle?: BatchHandler) {
  const listeners = new Map<string, (event: unknown) => void>();
  const events = { GROUP_JOIN: 'join', REBALANCING: 'rebalancing', CRASH: 'crash', STOP: 'stop' };
  const on = (name: string, listener: (event: unknown) => void) => listeners.set(name, listener);
  const membership = new Membership({ events, on } as unknown as Consumer);
  const handled: string[] = [];
  const registry = new Registry();
  const work = new PartitionWork(
    {
      kafka: {} as never,
      group: 'test',
      topics: [{ topic, register: 'padron_reducido' }],
      schemas: { current: (_, value) => value },
      handle: handle ?? (async (batch) => void handled.push(batch.firstOffset)),
      log: pino({ level: 'silent' }),
      metrics: makeLoopMetrics(registry),
      onFailure: () => undefined,
      limits: { ...loopLimits, retryFirstMs: 1, retryMostMs: 1, refusalsInARow: 3 },
    },
    membership,
  );
  const join = () => listeners.get('join')!({ payload: { memberAssignment: { [topic]: [0] } } });
  return { work, membership, handled, join, registry };
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

const withCode = (code: string) => Object.assign(new Error('an answer of PostgreSQL'), { code });

it('a batch waits for an engine that is away without a limit, and each failure is counted by its cause', async () => {
  const answers = [...Array<string>(10).fill('57P03'), '57014', '57014', '53300', '57014', '57014', '53200'];
  const { work, join, registry } = makeWork(async () => {
    const code = answers.shift();
    if (code !== undefined) throw withCode(code);
  });
  join();
  await work.take(payload(), unexpected);
  expect(answers).toEqual([]);
  const counted = await registry.getSingleMetric('padron_consumer_retries_total')!.get();
  expect(counted.values.map(({ labels, value }) => [labels.cause, value])).toEqual([
    ['away', 11],
    ['refused', 5],
  ]);
});

it('while a batch waits for an engine that is away, partitions whose turn comes later are not stuck', async () => {
  const answers = ['ECONNREFUSED', 'ECONNREFUSED'];
  const seen: number[] = [];
  const { work, join } = makeWork(async () => {
    seen.push(work.lastActivity(topic, 5));
    const code = answers.shift();
    if (code !== undefined) throw withCode(code);
  });
  join();
  const began = Date.now();
  await work.take(payload(), unexpected);
  expect(seen).toEqual([0, expect.any(Number), expect.any(Number)]);
  expect(seen[2]).toBeGreaterThanOrEqual(began);
});

it('a statement that PostgreSQL refuses again and again ends the process with its error', async () => {
  let attempts = 0;
  const { work, join } = makeWork(async () => {
    attempts += 1;
    throw withCode('57014');
  });
  join();
  const failures: Error[] = [];
  await expect(work.take(payload(), (error) => failures.push(error))).rejects.toThrow();
  expect(failures).toMatchObject([{ code: '57014' }]);
  expect(attempts).toBe(4);
});

it('a batch that a stop finds not begun is neither handled nor committed', async () => {
  const { work, handled, join } = makeWork();
  join();
  work.stop();
  const late = { ...payload(), commitOffsetsIfNecessary: () => expect.fail('committed') };
  await work.take(late, unexpected);
  expect(handled).toEqual([]);
});
