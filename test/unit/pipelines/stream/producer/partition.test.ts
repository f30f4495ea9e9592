import { createRequire } from 'node:module';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { murmur2, partitionOf } from '../../../../../pipelines/stream/producer/records.ts';

const require = createRequire(import.meta.url);
// kafkajs has its own translation of the Java client's hash.
const theirs: (key: Buffer) => number = require('kafkajs/src/producer/partitioners/default/murmur2');

test('the hash is the one of the Java client, for keys of every length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 24 }), (key) => murmur2(key, 0, key.length) === theirs(Buffer.from(key))),
    { numRuns: 2_000 },
  );
});

test('RUCs get the same partition as in the Java client, also inside a larger buffer', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 10_000_000_000, max: 20_999_999_999 }),
      fc.integer({ min: 1, max: 50 }),
      (ruc, partitions) => {
        const around = Buffer.from(`xx${ruc}yyy`);
        const expected = (theirs(Buffer.from(String(ruc))) & 0x7fffffff) % partitions;
        return partitionOf(around, 2, 13, partitions) === expected;
      },
    ),
    { numRuns: 2_000 },
  );
});

test('partitions of keys never change', () => {
  const places = ['20100070970', '20131312955', '10000000001', '15000000003'].map((ruc) =>
    partitionOf(Buffer.from(ruc), 0, 11, 6),
  );
  expect(places).toEqual([0, 5, 1, 1]);
  const counts = new Array(6).fill(0);
  for (let ruc = 20_100_000_000; ruc < 20_100_006_000; ruc += 1)
    counts[partitionOf(Buffer.from(String(ruc)), 0, 11, 6)] += 1;
  for (const count of counts) expect(count).toBeGreaterThan(850);
});
