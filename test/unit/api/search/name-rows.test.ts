import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { NameIndex } from '../../../../api/search/name-index.ts';
import { readNames, text } from '../../../../api/search/name-rows.ts';
import type { ClickHouseClient } from '../../../../pipelines/runtime/clickhouse.ts';

interface Row {
  name: string;
  ruc: number;
  form?: string;
  words?: string;
  letters?: string;
  isDeleted?: boolean;
}

function bytesOf({ name, ruc, form = 'SAC', words = '', letters = '', isDeleted = false }: Row): Buffer {
  const texts = [name, form, 'ACTIVO', 'HABIDO', '150101', '', words, letters].flatMap((each) => {
    const bytes = Buffer.from(each);
    const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
    return [Buffer.from(length), bytes];
  });
  const numbers = Buffer.alloc(11);
  numbers.writeBigUInt64LE(BigInt(ruc));
  numbers.writeUInt8(name.length, 9);
  numbers.writeUInt8(isDeleted ? 1 : 0, 10);
  return Buffer.concat([...texts, numbers]);
}

/** A store whose answer comes in pieces of the given size. */
function storeOf(bytes: Buffer, size: number): ClickHouseClient {
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  return { exec: async () => ({ stream: Readable.from(pieces) }) } as unknown as ClickHouseClient;
}

const long = `A${'B'.repeat(199)}`;
const rows: Row[] = [
  { name: 'KOLPA', ruc: 20_999_999_999 },
  { name: 'KOLPA', ruc: 20_999_999_999, isDeleted: true },
  { name: 'KOLPAS', ruc: 20_999_999_999, isDeleted: true },
  { name: 'SUR PERU SUR', ruc: 20_000_000_001, form: '', words: 'SUR PERU NORTE', letters: 'SURPERUSUR X' },
  { name: long, ruc: 20_100_000_000 },
];
const bytes = Buffer.concat(rows.map(bytesOf));

describe('rows of names', () => {
  test.each([1, 2, 3, 7, 50, 300, 10_000])(
    'in pieces of %i bytes are the same, the newest of each key',
    async (size) => {
      const read: unknown[] = [];
      await readNames(storeOf(bytes, size), 0, (row) =>
        read.push([row.string(text.name), row.ruc, row.length, row.string(text.letters), row.isDeleted]),
      );
      expect(read).toEqual([
        ['KOLPA', 20_999_999_999, 5, '', false],
        ['KOLPAS', 20_999_999_999, 6, '', true],
        ['SUR PERU SUR', 20_000_000_001, 12, 'SURPERUSUR X', false],
        [long, 20_100_000_000, 200, '', false],
      ]);
    },
  );

  test('that end too early are an error', async () => {
    await expect(readNames(storeOf(bytes.subarray(0, -1), 64), 0, () => undefined)).rejects.toThrow('inside a row');
  });
});

test('an index finds names by their words and their letters, and a row by its key', async () => {
  const index = new NameIndex();
  await readNames(storeOf(bytes, 64), 0, (row) => row.isDeleted || index.add(row));
  index.finish();
  expect(index.size).toBe(3);
  expect([...index.docsOf('SUR')]).toEqual([1]);
  expect([...index.docsOf('NORTE')]).toEqual([1]);
  expect([...index.docsOf('KOLPAS')]).toEqual([]);
  expect([index.begunBy('SUR'), index.begunBy('PERU')]).toEqual([1, 0]);
  expect(index.docsOfLetters(['X', 'SURPERUSUR', 'KOLPA', 'SURPERU'])).toEqual([0, 1]);
  expect([index.name(1), index.ruc(1), index.name(2)]).toEqual(['SUR PERU SUR', 20_000_000_001, long]);
  const found: number[] = [];
  await readNames(storeOf(bytes, 64), 0, (row) => found.push(index.find(row)));
  expect(found).toEqual([0, -1, 1, 2]);
});

test('an index of many names grows and keeps each', async () => {
  const many = Array.from({ length: 20_000 }, (_, at) => ({ name: `N${at} COMUN`, ruc: 20_000_000_000 + at }));
  const index = new NameIndex();
  await readNames(storeOf(Buffer.concat(many.map(bytesOf)), 65_536), 0, (row) => index.add(row));
  index.finish();
  expect(index.docsOf('COMUN')).toHaveLength(20_000);
  for (const at of [0, 1, 1_023, 1_024, 9_999, 19_999]) {
    expect([...index.docsOf(`N${at}`)]).toEqual([at]);
    expect(index.docsOfLetters([`N${at}COMUN`])).toEqual([at]);
    expect(index.name(at)).toBe(`N${at} COMUN`);
  }
});

test('the names with a beginning of a word are kept until the words change', async () => {
  const index = new NameIndex();
  await readNames(storeOf(bytes, 64), 0, (row) => row.isDeleted || index.add(row));
  index.finish();
  const asked: string[] = [];
  const wordsOf = (words: readonly string[]) => ({
    *beginningWith(begin: string) {
      asked.push(begin);
      yield* words.filter((word) => word.startsWith(begin));
    },
  });
  const has = (begin: string, words: ReturnType<typeof wordsOf>) =>
    [0, 1, 2].filter((doc) => index.docsBeginning(begin, words).has(doc));
  const [old, today] = [wordsOf(['KOLPA', 'PERU']), wordsOf(['KOLPA', 'NORTE', 'PERU', 'SUR'])];
  expect(has('P', old)).toEqual([1]);
  expect(has('N', old)).toEqual([]);
  expect(asked).toEqual(['P', 'N']);
  expect(has('N', today)).toEqual([1]);
  for (const begin of 'ABCDEFGHIJK') has(begin, today);
  expect([has('K', today), has('S', today), has('N', today)]).toEqual([[0], [1], [1]]);
});
