import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Change, headerBytes, schemaHeader, schemaText } from '../../../../../pipelines/changes/record.ts';
import { PreparedChunk, partitionOf, RecordCutter } from '../../../../../pipelines/stream/producer/records.ts';
import { type RegisterName, registerNames, registers } from '../../../../../schemas/registers.ts';
import { encodeChange } from '../../../../support/registers/change-records.ts';
import { bytesOf } from './chunk-bytes.ts';

const partitions = 3;
const edition = 300;
const cell = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.integer({ min: 64, max: 70_000 }).map((size) => 'x'.repeat(size)),
);
const key = (register: RegisterName) =>
  registers[register].key === 'ruc'
    ? fc.integer({ min: 10_000_000_000, max: 20_999_999_999 }).map(String)
    : fc.oneof(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), fc.constantFrom('07', '99000012345'));
const rowOf = (register: RegisterName) =>
  fc.record(Object.fromEntries(registers[register].columns.map(({ name }) => [name, cell])));
const change = (register: RegisterName): fc.Arbitrary<Change> =>
  fc.record({
    edition: fc.constant(edition),
    op: fc.constantFrom('r', 'c', 'u', 'd'),
    seq: fc.integer({ min: 0, max: 2 ** 34 }),
    ruc: key(register),
    before: fc.option(rowOf(register), { freq: 2 }),
    after: fc.option(rowOf(register), { freq: 2 }),
    line: fc.option(fc.integer({ min: 1, max: 20_000_000 })),
    detectedAt: fc.constant(new Date('2026-11-20T08:00:00Z')),
    corrects: fc.option(fc.integer({ min: 1, max: 400 })),
  });

/** The record's bytes in the change file. */
const recordOf = (one: Change, register: RegisterName) => encodeChange(one, 7, register).subarray(headerBytes);
const cutterOf = (register: RegisterName, of = edition) =>
  new RecordCutter({ schema: JSON.parse(schemaText(register)), schemaId: 7, edition: of, partitions });

test.each(registerNames)('%s: each record keeps its bytes; key and partition are those of its id', (register) => {
  fc.assert(
    fc.property(fc.array(change(register), { minLength: 1, maxLength: 8 }), (changes) => {
      const records = changes.map((one) => recordOf(one, register));
      const chunk = new PreparedChunk(partitions);
      const cutter = cutterOf(register);
      cutter.cut(Buffer.concat(records), records.length, chunk);

      const expected = new PreparedChunk(partitions);
      changes.forEach((one, index) => {
        const id = Buffer.from(one.ruc, 'utf8');
        const bytes = Buffer.concat([id, records[index]!]);
        const at = partitionOf(id, 0, id.length, partitions);
        expected.add(at, schemaHeader(7), bytes, id.length, bytes.length, 0, id.length);
      });
      for (let partition = 0; partition < partitions; partition += 1) {
        expect(bytesOf(chunk, partition).equals(bytesOf(expected, partition))).toBe(true);
      }
      expect(cutter.rowsByPartition.reduce((sum, rows) => sum + rows)).toBe(changes.length);
      expect(chunk.bytes).toBe(expected.bytes);
    }),
    { numRuns: 40 },
  );
});

test('a block of another edition, a truncated block and one with bytes left over are refused', () => {
  const [one] = fc.sample(change('sancionados'), { numRuns: 1, seed: 3 });
  const record = recordOf(one!, 'sancionados');
  expect(() => cutterOf('sancionados', edition + 1).cut(record, 1, null)).toThrow('of another edition');
  for (const bytes of [record.subarray(0, record.length - 1), Buffer.concat([record, Buffer.from([0])])]) {
    expect(() => cutterOf('sancionados').cut(bytes, 1, null)).toThrow('cannot be decoded');
  }
});

test('records of an earlier schema are read by that schema', () => {
  const earlier = JSON.parse(schemaText('sancionados'));
  earlier.fields.push({ name: 'note', type: ['null', 'string'], default: null });
  const [one] = fc.sample(change('sancionados'), { numRuns: 1, seed: 5 });
  const record = Buffer.concat([recordOf(one!, 'sancionados'), Buffer.from([2, 6]), Buffer.from('abc')]);
  const cutter = new RecordCutter({ schema: earlier, schemaId: 7, edition, partitions });
  cutter.cut(Buffer.concat([record, record]), 2, null);
  expect(cutter.rowsByPartition.reduce((sum, rows) => sum + rows)).toBe(2);
});
