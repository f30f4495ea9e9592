import { createRequire } from 'node:module';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readRecordsFast } from '../../../../pipelines/stream/fetched-records.ts';

const require = createRequire(import.meta.url);
const protocol = 'kafkajs/src/protocol';

interface TheirRecord {
  offset: string;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer>;
  isControlRecord?: boolean;
}
type Decode = (answer: { buffer: Buffer; offset: number }) => Promise<{ records: TheirRecord[] }>;

const Decoder: new (bytes: Buffer) => { buffer: Buffer; offset: number } = require(`${protocol}/decoder`);
const Encoder: new () => { writeInt32(value: number): { writeBuffer(bytes: Buffer): { buffer: Buffer } } } = require(
  `${protocol}/encoder`,
);
const encodeRecord: (record: object) => { buffer: Buffer } = require(`${protocol}/recordBatch/record/v0`);
const batches: { RecordBatch: (batch: object) => Promise<{ buffer: Buffer }> } = require(`${protocol}/recordBatch/v0`);
const theirs: Decode = require(`${protocol}/recordBatch/v0/decoder`);
readRecordsFast();
/** The client's function that decodes all batches of a partition. It is loaded only now, as at a first fetch. */
const decodeMessages: (decoder: object) => Promise<TheirRecord[]> = require(
  `${protocol}/requests/fetch/v4/decodeMessages`,
);

interface Given {
  key: Uint8Array | null;
  value: Uint8Array | null;
  timestampDelta: number;
  headers: Record<string, string>;
}

const bytes = fc.option(fc.uint8Array({ maxLength: 200 }), { freq: 9 });
const record = fc.record({
  key: bytes,
  value: bytes,
  timestampDelta: fc.integer({ min: 0, max: 2 ** 40 }),
  headers: fc.oneof(
    { weight: 9, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.dictionary(fc.string({ minLength: 1 }), fc.string(), { minKeys: 1, maxKeys: 2 }) },
  ),
});
const batch = fc.record({
  firstOffset: fc.integer({ min: 0, max: 2 ** 50 }),
  transactional: fc.boolean(),
  records: fc.array(record, { minLength: 1, maxLength: 60 }),
});

async function encoded(given: { firstOffset: number; transactional: boolean; records: Given[] }): Promise<Buffer> {
  const records = given.records.map(({ key, value, ...rest }, offsetDelta) =>
    encodeRecord({ ...rest, offsetDelta, key: key && Buffer.from(key), value: value && Buffer.from(value) }),
  );
  const { firstOffset, transactional } = given;
  const lastOffsetDelta = records.length - 1;
  const Long: { fromValue(value: number): object } = require('kafkajs/src/utils/long');
  const whole = await batches.RecordBatch({
    ...{ firstOffset: Long.fromValue(firstOffset), transactional, lastOffsetDelta, records },
  });
  return whole.buffer;
}

const told = ({ offset, key, value, headers }: TheirRecord) => ({ offset, key, value, headers: { ...headers } });

test('records are those of the client, in batches of every kind and also if the last batch is cut off', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 4 }), fc.nat(), async (given, cut) => {
      const all = await Promise.all(given.map(encoded));
      const expected: TheirRecord[] = [];
      for (const one of all.slice(0, -1)) expected.push(...(await theirs(new Decoder(one))).records);
      const last = all.at(-1)!;
      const kept = cut % 3 === 0 ? last.subarray(0, cut % last.length) : last;
      if (kept === last) expected.push(...(await theirs(new Decoder(last))).records);
      const text = Buffer.concat([...all.slice(0, -1), kept]);
      fc.pre(text.length > 17);
      const answer = new Decoder(new Encoder().writeInt32(text.length).writeBuffer(text).buffer);
      const found = await decodeMessages(answer);
      expect(found.map(told)).toEqual(expected.map(told));
      expect(found.some(({ isControlRecord }) => isControlRecord)).toBe(false);
    }),
    { numRuns: 200 },
  );
});

test('a plain batch is not read by the client', async () => {
  const plain = { key: Buffer.from('20131312955'), value: Buffer.from('x'), timestampDelta: 0, headers: {} };
  const [found] = await decodeMessages(
    new Decoder(
      await encoded({ firstOffset: 7, transactional: false, records: [plain] }).then(
        (text) => new Encoder().writeInt32(text.length).writeBuffer(text).buffer,
      ),
    ),
  );
  expect(Object.keys(found!)).toEqual(['offset', 'value']);
  expect(found).toMatchObject({ offset: '7', key: plain.key, value: plain.value });
});
