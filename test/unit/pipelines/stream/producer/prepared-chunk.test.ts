import { createRequire } from 'node:module';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PreparedChunk, type RecordHeaders } from '../../../../../pipelines/stream/producer/records.ts';
import { bytesOf } from './chunk-bytes.ts';

const require = createRequire(import.meta.url);
/** A record encoded by kafkajs itself. */
const theirRecord: (record: {
  offsetDelta: number;
  timestampDelta: number;
  key: Buffer;
  value: Buffer;
  headers?: RecordHeaders;
}) => { buffer: Buffer } = require('kafkajs/src/protocol/recordBatch/record/v0');
const theirBatches: (request: object) => {
  encode: () => Promise<{ buffer: Buffer }>;
} = require('kafkajs/src/protocol/requests/produce/v7/request');

const record = fc.record({
  partition: fc.integer({ min: 0, max: 3 }),
  key: fc.uint8Array({ maxLength: 80 }),
  value: fc.oneof(
    { weight: 9, arbitrary: fc.uint8Array({ maxLength: 300 }) },
    { weight: 1, arbitrary: fc.integer({ min: 8_100, max: 70_000 }).map((size) => new Uint8Array(size).fill(size)) },
  ),
});
const headers = fc.oneof(
  fc.constant({}),
  fc.dictionary(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string(), { maxKeys: 3 }),
);
const header = Buffer.from([0, 0, 0, 1, 2]);

function prepare(
  records: readonly { partition: number; key: Uint8Array; value: Uint8Array }[],
  recordHeaders: RecordHeaders = {},
): PreparedChunk {
  const chunk = new PreparedChunk(4, recordHeaders, 16);
  for (const { partition, key, value } of records) {
    const bytes = Buffer.concat([Buffer.from('around'), key, value, Buffer.from('around')]);
    const valueStart = 6 + key.length;
    chunk.add(partition, header, bytes, valueStart, valueStart + value.length, 6, valueStart);
  }
  return chunk;
}

test('records are byte for byte those of the client', () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 300 }), headers, (records, recordHeaders) => {
      const chunk = prepare(records, recordHeaders);
      for (let partition = 0; partition < 4; partition += 1) {
        const mine = records.filter((one) => one.partition === partition);
        const theirs = mine.map(
          ({ key, value }, offsetDelta) =>
            theirRecord({
              offsetDelta,
              timestampDelta: 0,
              key: Buffer.from(key),
              value: Buffer.concat([header, value]),
              headers: recordHeaders,
            }).buffer,
        );
        expect(bytesOf(chunk, partition).equals(Buffer.concat(theirs))).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});

test('the client makes the same request from it as from a list of messages', async () => {
  const records = Array.from({ length: 900 }, (_, index) => ({
    partition: index % 3,
    key: Buffer.from(`key ${index}`),
    value: Buffer.alloc(index, index),
  }));
  const grouped = prepare(records)
    .asMessages()
    .reduce(() => null as never, {} as never) as unknown as Record<string, unknown>;
  expect(Object.keys(grouped)).toEqual(['0', '1', '2']);
  const request = (messagesOf: (partition: number) => unknown) =>
    theirBatches({
      acks: -1,
      timeout: 1_000,
      topicData: [
        {
          topic: 'topic',
          partitions: [0, 1, 2].map((partition) => ({ partition, firstSequence: 7, messages: messagesOf(partition) })),
        },
      ],
    }).encode();
  const { now } = Date;
  Date.now = () => 1_790_000_000_000;
  try {
    const mine = await request((partition) => grouped[partition]);
    const theirs = await request((partition) =>
      records
        .filter((one) => one.partition === partition)
        .map(({ key, value }) => ({ key, value: Buffer.concat([header, value]) })),
    );
    expect(mine.buffer.equals(theirs.buffer)).toBe(true);
  } finally {
    Date.now = now;
  }
});

test('a cleared chunk holds none of its earlier records', () => {
  const chunk = prepare([{ partition: 1, key: Buffer.from('k'), value: Buffer.from('v') }]);
  chunk.clear();
  expect(chunk.rows).toBe(0);
  expect(bytesOf(chunk, 1).length).toBe(0);
  expect(chunk.asMessages()).toHaveLength(0);
});
