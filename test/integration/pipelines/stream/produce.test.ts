import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { avroType, headerBytes } from '../../../../pipelines/changes/record.ts';
import { editionPartitions } from '../../../../pipelines/editions/editions.ts';
import { produceEdition } from '../../../../pipelines/stream/produce.ts';
import {
  checkMaterialised,
  countAtVersion,
  editionsToRepublish,
  groupPassed,
} from '../../../../pipelines/stream/progress.ts';
import { watchGroup } from '../../../../pipelines/stream/topics.ts';
import { changesTopic, editionsTopic } from '../../../../schemas/registers.ts';
import {
  baseline,
  currentState,
  expectedState,
  freezeTestEdition,
  nextDay,
  produceDependencies,
  produceTestEdition,
  type StreamHarness,
  startMaterialize,
  streamHarnesses,
} from '../../../support/engines/stream.ts';

const register = 'padron_reducido';
const newHarness = streamHarnesses();

describe('two editions', () => {
  const first = baseline(20_000);
  const second = nextDay(first, 2);
  let harness: StreamHarness;
  beforeAll(async () => {
    harness = await newHarness();
  });

  test('go from change file to state and history', async () => {
    const outcome = await produceTestEdition(harness, 1, await freezeTestEdition(harness, 1, first));
    expect(outcome.rows).toBe(first.length);
    expect(outcome.rowsByPartition.every((rows) => rows > 2_500)).toBe(true);
    expect(await checkMaterialised(harness, register, 1)).toBe('not_yet');
    const loop = await startMaterialize(harness);
    await expect.poll(() => checkMaterialised(harness, register, 1), { timeout: 60_000 }).toBe('materialised');
    await produceTestEdition(harness, 2, await freezeTestEdition(harness, 2, second));
    await expect.poll(() => checkMaterialised(harness, register, 2), { timeout: 60_000 }).toBe('materialised');
    await loop.stop();
    expect(loop.failures).toEqual([]);
    expect(await currentState(harness)).toEqual(expectedState(first, second));
    const result = await harness.clickhouse.query({
      query: `SELECT op, count() AS rows, countIf(before IS NULL) AS without_before, countIf(after IS NULL) AS without_after,
        any(toString(detected_at)) AS at FROM register_change FINAL GROUP BY op ORDER BY op`,
      format: 'JSONEachRow',
    });
    const count = (op: string) => second.filter((change) => change.op === op).length;
    const at = '2026-11-21 08:00:00.000';
    expect(await result.json()).toEqual([
      { op: 'c', rows: count('c'), without_before: count('c'), without_after: 0, at },
      { op: 'u', rows: count('u'), without_before: 0, without_after: 0, at },
      { op: 'd', rows: count('d'), without_before: 0, without_after: count('d'), at },
    ]);
  });

  test('have a record with their ends in the editions topic, and a repeat changes nothing but the ends', async () => {
    const before = await editionPartitions(harness.pool, register, 2);
    const { rows } = await harness.pool.query('SELECT change_file_sha256, publicada_at FROM edition WHERE number = 2');
    await produceTestEdition(harness, 2, `${harness.folder}/${rows[0].change_file_sha256}.avro`);
    const after = await editionPartitions(harness.pool, register, 2);
    const raised = after.map(({ end_offset }, partition) => end_offset - before[partition]!.end_offset);
    expect(raised).toEqual(before.map((partition) => partition.rows));
    expect(after.map((partition) => partition.rows)).toEqual(before.map((partition) => partition.rows));
    const again = await harness.pool.query('SELECT change_file_sha256, publicada_at FROM edition WHERE number = 2');
    expect(again.rows).toEqual(rows);
    expect(await checkMaterialised(harness, register, 2)).toBe('not_yet');
    const loop = await startMaterialize(harness);
    await expect.poll(() => checkMaterialised(harness, register, 2), { timeout: 60_000 }).toBe('materialised');
    await loop.stop();
    expect(await currentState(harness)).toEqual(expectedState(first, second));
    const records = await editionRecords(harness);
    expect(records.map(({ edition }) => edition)).toEqual([1, 2, 2]);
    expect(records.at(-1)).toMatchObject({
      register,
      rows: second.length,
      change_file_sha256: rows[0].change_file_sha256,
      end_offsets: after.map(({ end_offset }) => end_offset),
    });
  });

  test('a state with a missing taxpayer is an error, not a wait', async () => {
    await harness.pool.query('UPDATE edition SET changes = changes + 1 WHERE number = 2');
    await expect(checkMaterialised(harness, register, 2)).rejects.toMatchObject({
      code: 'materialised_count_differs',
      retryable: false,
    });
    expect(await countAtVersion(harness.clickhouse, register, 2)).toBe(second.length);
  });
});

test('a producer that was killed half way runs again, from the beginning or from the last acknowledged block', async () => {
  const harness = await newHarness();
  const changes = baseline(200_000);
  const input = { register, edition: 1, changeFile: await freezeTestEdition(harness, 1, changes) } as const;
  const inKafka = async () =>
    (await harness.offsets.ends(changesTopic(harness.prefix, register))).reduce((sum, end) => sum + end);
  const abort = new AbortController();
  const killed = produceEdition(produceDependencies(harness), input, () => {}, abort.signal).catch(
    (error: unknown) => error,
  );
  await expect.poll(inKafka, { timeout: 60_000, interval: 5 }).toBeGreaterThan(0);
  abort.abort(new Error('killed by the test'));
  expect(await killed).toMatchObject({ message: 'killed by the test' });
  // The broker may still append a request that it received before the process died.
  let left = await inKafka();
  for (let before = -1; left !== before; await sleep(500)) {
    before = left;
    left = await inKafka();
  }
  expect(left).toBeLessThan(changes.length);
  expect(await editionPartitions(harness.pool, register, 1)).toEqual([]);
  const signal = new AbortController().signal;
  const outcome = await produceEdition(produceDependencies(harness), input, () => {}, signal);
  expect(outcome.rows).toBe(changes.length);
  expect(await inKafka()).toBe(left + changes.length);
  // Blocks that an earlier run saw acknowledged are counted and not sent again.
  const acknowledged = { acknowledgedBlocks: 20, logEnds: outcome.endOffsets };
  const rest = await produceEdition(produceDependencies(harness), { ...input, acknowledged }, () => {}, signal);
  expect(rest.rowsByPartition).toEqual(outcome.rowsByPartition);
  expect(await inKafka()).toBeLessThan(left + 2 * changes.length);
  expect(rest.endOffsets.every((end, partition) => end > outcome.endOffsets[partition]!)).toBe(true);
  const loop = await startMaterialize(harness);
  await expect.poll(() => checkMaterialised(harness, register, 1), { timeout: 60_000 }).toBe('materialised');
  await loop.stop();
  expect(await currentState(harness)).toEqual(expectedState(changes));
});

test('acknowledged blocks that the log has lost are sent again', async () => {
  const harness = await newHarness();
  const changes = baseline(10_000);
  const input = { register, edition: 1, changeFile: await freezeTestEdition(harness, 1, changes) } as const;
  const topic = changesTopic(harness.prefix, register);
  const sum = (ends: readonly number[]) => ends.reduce((total, end) => total + end);
  await produceTestEdition(harness, 1, input.changeFile);
  const sentFrom = async (logEnds: readonly number[]) => {
    const acknowledged = { acknowledgedBlocks: 2, logEnds };
    const before = sum(await harness.offsets.ends(topic));
    const again = { ...input, acknowledged };
    await produceEdition(produceDependencies(harness), again, () => {}, new AbortController().signal);
    return sum(await harness.offsets.ends(topic)) - before;
  };
  expect(await sentFrom(await harness.offsets.ends(topic))).toBeLessThan(changes.length);
  // This is the case of a broker that lost power and with it the last record of one partition.
  const [first, ...others] = await harness.offsets.ends(topic);
  expect(await sentFrom([first! + 1, ...others])).toBe(changes.length);
});

test('a change file that is not the frozen one sends nothing', async () => {
  const harness = await newHarness();
  const changeFile = await freezeTestEdition(harness, 1, baseline(100));
  appendFileSync(changeFile, 'x');
  await expect(produceTestEdition(harness, 1, changeFile)).rejects.toMatchObject({
    code: 'change_file_differs',
    retryable: false,
  });
  expect(await harness.offsets.ends(`${harness.prefix}register.padron_reducido.changes`)).toEqual([0, 0, 0, 0, 0, 0]);
});

test('editions that the log lost are listed, oldest first, until each is produced again', async () => {
  const harness = await newHarness();
  const files = [
    await freezeTestEdition(harness, 1, baseline(300)),
    await freezeTestEdition(harness, 2, nextDay(baseline(300), 2)),
  ];
  await produceTestEdition(harness, 1, files[0]!);
  await produceTestEdition(harness, 2, files[1]!);
  expect(await editionsToRepublish(harness, register)).toEqual([]);
  // This is the case of a log that lost its end: the recorded ends lie beyond it.
  await harness.pool.query('UPDATE edition_partition SET end_offset = end_offset + 40 WHERE partition = 3');
  expect(await editionsToRepublish(harness, register)).toEqual([1, 2]);
  const again = (edition: number) =>
    produceEdition(
      produceDependencies(harness),
      { register, edition, changeFile: files[edition - 1]!, again: true },
      () => {},
      new AbortController().signal,
    );
  await again(1);
  // The log's end is now beyond edition 2's old end, but edition 2 must be produced again all the same.
  expect(await editionsToRepublish(harness, register)).toEqual([2]);
  await again(2);
  expect(await editionsToRepublish(harness, register)).toEqual([]);
});

test('a group beyond the end of the log has not passed the records that replaced the lost ones', async () => {
  const harness = await newHarness();
  await produceTestEdition(harness, 1, await freezeTestEdition(harness, 1, baseline(100)));
  const [topic, group] = [changesTopic(harness.prefix, register), watchGroup(harness.prefix)];
  const ends = await harness.offsets.ends(topic);
  const admin = harness.kafka.admin();
  await admin.connect();
  const passedAt = async (offsets: readonly number[]) => {
    const partitions = offsets.map((offset, partition) => ({ partition, offset: String(offset) }));
    await admin.setOffsets({ groupId: group, topic, partitions });
    return await groupPassed(harness, group, register, 1);
  };
  expect(await passedAt(ends)).toBe(true);
  expect(await passedAt(ends.map((end, partition) => (partition === 2 ? end - 1 : end)))).toBe(false);
  // The records that the group had read there are gone, and it may not have read what replaces them.
  expect(await passedAt(ends.map((end, partition) => (partition === 2 ? end + 30 : end)))).toBe(false);
  await admin.disconnect();
});

async function editionRecords(harness: StreamHarness): Promise<Record<string, unknown>[]> {
  const consumer = harness.kafka.consumer({ groupId: `${harness.prefix}reader` });
  await consumer.connect();
  await consumer.subscribe({ topic: editionsTopic(harness.prefix, register), fromBeginning: true });
  const found: Record<string, unknown>[] = [];
  await consumer.run({
    eachMessage: async ({ message }) => {
      found.push(avroType('edition').fromBuffer(message.value!.subarray(headerBytes)) as Record<string, unknown>);
    },
  });
  await expect.poll(() => found.length, { timeout: 15_000 }).toBe(3);
  await consumer.disconnect();
  return found;
}
