import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { KafkaChunkSender, type StreamOffsets } from '../../../pipelines/stream/kafka.ts';
import { PreparedChunk } from '../../../pipelines/stream/producer/records.ts';
import { makeStreamHarness, type StreamHarness } from '../../support/engines/stream.ts';

// Every Kafka client must pass these tests. A second client would be a second entry here.
const clients = [
  {
    name: 'kafkajs',
    sender: (harness: StreamHarness): KafkaChunkSender => new KafkaChunkSender(harness.kafka),
    offsets: (harness: StreamHarness): StreamOffsets => harness.offsets,
  },
];

describe.each(clients)('$name', ({ sender: makeSender, offsets: makeOffsets }) => {
  let harness: StreamHarness;
  let topic: string;
  let sender: KafkaChunkSender;
  let offsets: StreamOffsets;
  beforeAll(async () => {
    harness = await makeStreamHarness(inject('endpoints'));
    topic = `${harness.prefix}register.padron_reducido.changes`;
    sender = makeSender(harness);
    offsets = makeOffsets(harness);
  });
  afterAll(async () => {
    await sender.close();
    await harness.close();
  });

  const record = (partition: number, value: Buffer) => ({ key: Buffer.from('20100070970'), value, partition });

  async function read(count: number): Promise<{ partition: number; offset: number; key: string; value: Buffer }[]> {
    const consumer = harness.kafka.consumer({ groupId: `${harness.prefix}reader-${count}` });
    const found: { partition: number; offset: number; key: string; value: Buffer }[] = [];
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ partition, message }) => {
        found.push({ partition, offset: Number(message.offset), key: String(message.key), value: message.value! });
      },
    });
    await expect.poll(() => found.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(count);
    await sleep(300);
    await consumer.disconnect();
    return found.sort((one, other) => one.partition - other.partition || one.offset - other.offset);
  }

  test('a topic without records ends at 0, and a group that never committed is at 0', async () => {
    expect(await offsets.ends(topic)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(await offsets.committed(`${harness.prefix}nobody`, topic)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test('records keep their bytes, key, partition and order; the ends give their number', async () => {
    const sizes = [0, 1, 63, 64, 127, 128, 8_191, 8_192, 100_000];
    const values = sizes.map((size, index) => Buffer.alloc(size, index + 1));
    await sender.send(
      topic,
      values.map((value, index) => record(index % 2 === 0 ? 2 : 4, value)),
    );
    await sender.send(topic, [record(2, Buffer.from('last'))]);
    expect(await offsets.ends(topic)).toEqual([0, 0, 6, 0, 4, 0]);
    const found = await read(10);
    expect(found.map(({ partition, offset }) => `${partition}/${offset}`)).toEqual([
      ...[0, 1, 2, 3, 4, 5].map((offset) => `2/${offset}`),
      ...[0, 1, 2, 3].map((offset) => `4/${offset}`),
    ]);
    expect(found.every(({ key }) => key === '20100070970')).toBe(true);
    const even = values.filter((_, index) => index % 2 === 0);
    const odd = values.filter((_, index) => index % 2 === 1);
    expect(found.map(({ value }) => value)).toEqual([...even, Buffer.from('last'), ...odd]);
  });

  test('a chunk of many thousand records arrives whole', async () => {
    const before = await offsets.ends(topic);
    const chunk = Array.from({ length: 12_000 }, (_, index) => record(index % 6, Buffer.from(`value ${index}`)));
    await sender.send(topic, chunk);
    const after = await offsets.ends(topic);
    expect(after.map((end, partition) => end - before[partition]!)).toEqual(new Array(6).fill(2_000));
  });

  test('a prepared chunk arrives like the same records, also when it is used again', async () => {
    const header = Buffer.from([0, 0, 0, 0, 9]);
    const chunk = new PreparedChunk(6);
    const before = await offsets.ends(topic);
    for (let round = 0; round < 2; round += 1) {
      chunk.clear();
      for (let index = 0; index < 3_000; index += 1) {
        const bytes = Buffer.from(`20100070970 prepared ${round} ${index}`);
        chunk.add(index % 6, header, bytes, 12, bytes.length, 0, 11);
      }
      await sender.send(topic, chunk.asMessages());
    }
    const after = await offsets.ends(topic);
    expect(after.map((end, partition) => end - before[partition]!)).toEqual(new Array(6).fill(1_000));
    const found = await read(after.reduce((sum, end) => sum + end));
    for (let partition = 0; partition < 6; partition += 1) {
      const mine = found.filter((one) => one.partition === partition && one.offset >= before[partition]!);
      expect(mine.every(({ key }) => key === '20100070970')).toBe(true);
      expect(mine.map(({ value }) => value.toString('latin1'))).toEqual(
        Array.from({ length: 1_000 }, (_, place) => {
          const index = (place % 500) * 6 + partition;
          return `\0\0\0\0\tprepared ${Math.floor(place / 500)} ${index}`;
        }),
      );
    }
  });

  test('a chunk that cannot be sent is a typed, retryable error, and the sender works again afterwards', async () => {
    const before = (await offsets.ends(topic))[5]!;
    await expect(sender.send(topic, [record(5, Buffer.alloc(9 * 1024 * 1024))])).rejects.toMatchObject({
      code: 'send_failed',
      retryable: true,
    });
    await sender.send(topic, [record(5, Buffer.from('after'))]);
    expect((await offsets.ends(topic))[5]).toBe(before + 1);
  });
});
