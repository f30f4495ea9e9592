import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import type { BatchHandler, ChangeBatch } from '../../../../pipelines/consumers/batch.ts';
import { InsertFailed } from '../../../../pipelines/consumers/materialize.ts';
import { makeKafka } from '../../../../pipelines/runtime/kafka/client.ts';
import { KafkaChunkSender } from '../../../../pipelines/stream/kafka.ts';
import { checkMaterialised } from '../../../../pipelines/stream/progress.ts';
import { materializeGroup } from '../../../../pipelines/stream/topics.ts';
import { changesTopic } from '../../../../schemas/registers.ts';
import {
  baseline,
  currentState,
  expectedState,
  freezeTestEdition,
  inventedRow,
  inventedRuc,
  makeStreamHarness,
  produceTestEdition,
  type StreamHarness,
  startMaterialize,
} from '../../../support/engines/stream.ts';
import { makeTcpProxy } from '../../../support/engines/tcp-proxy.ts';
import { encodeChange } from '../../../support/registers/change-records.ts';

const register = 'padron_reducido';
/** Makes many batches out of few rows. */
const smallBatches = { maxBytesPerPartition: 64 * 1024, maxBytesPerFetch: 256 * 1024, minBytes: 1 };

let harness: StreamHarness;
let topic: string;
beforeEach(async () => {
  harness = await makeStreamHarness(inject('endpoints'));
  topic = changesTopic(harness.prefix, register);
});
afterEach(() => harness.close());

/** How often a handler finished every (partition, offset). */
class Ledger {
  readonly #times = new Map<string, number>();

  write({ partition, messages }: ChangeBatch): void {
    for (const { offset } of messages) {
      const key = `${partition}/${offset}`;
      this.#times.set(key, (this.#times.get(key) ?? 0) + 1);
    }
  }
  size(): number {
    return this.#times.size;
  }
  missing(ends: readonly number[]): string[] {
    return ends.flatMap((end, partition) =>
      Array.from({ length: end }, (_, offset) => `${partition}/${offset}`).filter((key) => !this.#times.has(key)),
    );
  }
  repeated(): number {
    return [...this.#times.values()].filter((times) => times > 1).length;
  }
}

const into =
  (ledger: Ledger, delayMs = 0) =>
  (handle: BatchHandler): BatchHandler =>
  async (batch) => {
    await handle(batch);
    if (delayMs > 0) await sleep(delayMs);
    ledger.write(batch);
  };

const committedAll = async (ends: readonly number[]) => {
  const committed = await harness.offsets.committed(materializeGroup(harness.prefix), topic);
  return ends.every((end, partition) => committed[partition] === end);
};

test('every offset is handled when a second consumer joins and the first one stops in the middle', async () => {
  const changes = baseline(30_000);
  const { endOffsets } = await produceTestEdition(harness, 1, await freezeTestEdition(harness, 1, changes));
  const ledger = new Ledger();
  const first = await startMaterialize(harness, { around: into(ledger, 50), limits: smallBatches });
  await expect.poll(() => ledger.size(), { timeout: 60_000 }).toBeGreaterThan(1_000);
  const second = await startMaterialize(harness, { around: into(ledger, 50), limits: smallBatches });
  await expect.poll(() => second.ready(), { timeout: 60_000 }).toBe(null);
  await first.stop();
  await expect.poll(() => committedAll(endOffsets), { timeout: 90_000 }).toBe(true);
  await second.stop();
  expect(ledger.missing(endOffsets)).toEqual([]);
  // A rebalance repeats at most the batches in progress.
  expect(ledger.repeated()).toBeLessThan(changes.length / 4);
  expect([...first.failures, ...second.failures]).toEqual([]);
  expect(await checkMaterialised(harness, register, 1)).toBe('materialised');
  expect(await currentState(harness)).toEqual(expectedState(changes));
});

test('a consumer killed between insert and commit leaves a state that the repeat completes', async () => {
  const changes = baseline(20_000);
  const { endOffsets } = await produceTestEdition(harness, 1, await freezeTestEdition(harness, 1, changes));
  const child = spawn(process.execPath, ['--import', 'tsx', 'test/support/watch/dying-consumer.ts'], {
    env: { ...harness.environment, SCHEMA_ID: String(harness.ids.changes) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve) => createInterface({ input: child.stdout }).once('line', () => resolve()));
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await ended;
  expect((await currentState(harness)).size).toBeGreaterThan(0);
  expect(await harness.offsets.committed(materializeGroup(harness.prefix), topic)).toEqual([0, 0, 0, 0, 0, 0]);
  const ledger = new Ledger();
  const loop = await startMaterialize(harness, { around: into(ledger) });
  await expect.poll(() => committedAll(endOffsets), { timeout: 60_000 }).toBe(true);
  await loop.stop();
  expect(ledger.missing(endOffsets)).toEqual([]);
  expect(await checkMaterialised(harness, register, 1)).toBe('materialised');
  expect(await currentState(harness)).toEqual(expectedState(changes));
});

test('reading everything again from the beginning changes nothing', async () => {
  const changes = baseline(5_000);
  const { endOffsets } = await produceTestEdition(harness, 1, await freezeTestEdition(harness, 1, changes));
  for (let round = 0; round < 2; round += 1) {
    const ledger = new Ledger();
    const loop = await startMaterialize(harness, { around: into(ledger) });
    await expect.poll(() => ledger.missing(endOffsets).length, { timeout: 60_000 }).toBe(0);
    await expect.poll(() => committedAll(endOffsets), { timeout: 60_000 }).toBe(true);
    await loop.stop();
    const admin = harness.kafka.admin();
    await admin.connect();
    await admin.resetOffsets({ groupId: materializeGroup(harness.prefix), topic, earliest: true });
    await admin.disconnect();
    expect(await currentState(harness)).toEqual(expectedState(changes));
  }
});

test('a batch is tried again in place while an engine does not answer, and committed once it does', async () => {
  const changes = baseline(1_000);
  const { endOffsets } = await produceTestEdition(harness, 1, await freezeTestEdition(harness, 1, changes));
  let failures = 4;
  const loop = await startMaterialize(harness, {
    around: (handle) => async (batch) => {
      if (failures > 0) {
        failures -= 1;
        throw new InsertFailed('taxpayer', { code: 'ECONNREFUSED' });
      }
      await handle(batch);
    },
    limits: { retryFirstMs: 50 },
  });
  await expect.poll(() => committedAll(endOffsets), { timeout: 60_000 }).toBe(true);
  await loop.stop();
  expect(failures).toBe(0);
  expect(loop.failures).toEqual([]);
  expect(await currentState(harness)).toEqual(expectedState(changes));
});

test('a consumer that starts while its broker is away begins once the broker is back', async () => {
  const changes = baseline(1_000);
  const { endOffsets } = await produceTestEdition(harness, 1, await freezeTestEdition(harness, 1, changes));
  const proxy = await makeTcpProxy(`tcp://${harness.connection.brokers}`);
  await proxy.cut();
  const brokers = new URL(proxy.url).host;
  // With one try a call, each call fails at once, as after the many tries of a process.
  const kafka = makeKafka({ ...harness.connection, brokers }, 'test', harness.log, { retry: { retries: 0 } });
  const starting = startMaterialize({ ...harness, kafka }, { limits: { retryFirstMs: 50 } });
  await sleep(500);
  await proxy.mend();
  const loop = await starting;
  await expect.poll(() => committedAll(endOffsets), { timeout: 60_000 }).toBe(true);
  expect(loop.failures).toEqual([]);
  await loop.stop();
  await proxy.stop();
});

test('a bug in a handler ends the process instead of losing the batch', async () => {
  await produceTestEdition(harness, 1, await freezeTestEdition(harness, 1, baseline(10)));
  const loop = await startMaterialize(harness, {
    around: () => async () => {
      throw new TypeError('a bug');
    },
  });
  await expect.poll(() => loop.failures.length, { timeout: 30_000 }).toBeGreaterThan(0);
  expect(String(loop.failures[0])).toContain('a bug');
  await loop.stop();
  expect(await harness.offsets.committed(materializeGroup(harness.prefix), topic)).toEqual([0, 0, 0, 0, 0, 0]);
});

test('a partition that makes no progress is reported to the process', async () => {
  await produceTestEdition(harness, 1, await freezeTestEdition(harness, 1, baseline(10)));
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const loop = await startMaterialize(harness, { around: () => () => held, limits: { noProgressMs: 3_000 } });
  await expect.poll(() => loop.failures[0], { timeout: 60_000 }).toMatchObject({ code: 'partition_stuck' });
  release();
  await loop.stop();
});

test('a handler that waits on purpose keeps its partition alive and lets the process stop at once', async () => {
  await produceTestEdition(harness, 1, await freezeTestEdition(harness, 1, baseline(100)));
  let waiting = 0;
  const loop = await startMaterialize(harness, {
    around: () => async (batch) => {
      for (waiting += 1; ; await sleep(50)) await batch.heartbeat();
    },
    // A fetch holds one partition here, so the others are not even begun.
    limits: { noProgressMs: 2_000, maxBytesPerFetch: 1, maxBytesPerPartition: 1 },
  });
  await expect.poll(() => waiting, { timeout: 30_000 }).toBeGreaterThan(0);
  await sleep(12_000);
  expect(loop.failures).toEqual([]);
  const began = Date.now();
  await loop.stop();
  expect(Date.now() - began).toBeLessThan(5_000);
  expect(loop.failures).toEqual([]);
  expect(await harness.offsets.committed(materializeGroup(harness.prefix), topic)).toEqual([0, 0, 0, 0, 0, 0]);
});

describe('a record that cannot be decoded', () => {
  const good = (number: number) => ({
    edition: 1,
    op: 'r' as const,
    seq: number,
    ruc: inventedRuc(number),
    before: null,
    after: inventedRow(`EMPRESA ${number}`),
    line: null,
    detectedAt: new Date(0),
    corrects: null,
  });

  test.each([
    ['is damaged', (value: Buffer) => value.subarray(0, 20)],
    [
      'has a schema that nobody knows',
      (value: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, 99, 99]), value.subarray(5)]),
    ],
    ['has no header', (value: Buffer) => value.subarray(5)],
  ])('%s: what stands before it is committed, its partition stops there, others go on', async (_, damage) => {
    const sender = new KafkaChunkSender(harness.kafka);
    const record = (number: number, partition: number, change = (value: Buffer) => value) => ({
      key: Buffer.from(inventedRuc(number)),
      value: change(encodeChange(good(number), harness.ids.changes, 'padron_reducido')),
      partition,
    });
    await sender.send(topic, [record(1, 0), record(2, 0), record(3, 0, damage), record(4, 0), record(5, 1)]);
    const loop = await startMaterialize(harness);
    await expect.poll(() => loop.stoppedPartitions(), { timeout: 60_000 }).toEqual([`${topic}/0`]);
    await sender.send(topic, [record(6, 0), record(7, 1)]);
    await sender.close();
    await expect
      .poll(() => harness.offsets.committed(materializeGroup(harness.prefix), topic), { timeout: 30_000 })
      .toEqual([2, 2, 0, 0, 0, 0]);
    expect(await loop.metrics.metrics()).toMatch(/padron_consumer_partition_stopped\{[^}]*partition="0"[^}]*\} 1/);
    await loop.stop();
    expect(loop.failures).toEqual([]);
    expect([...(await currentState(harness)).keys()]).toEqual([1, 2, 5, 7].map(inventedRuc).sort());
  });
});
