import { expect, test } from 'vitest';
import { readTaxpayerRows } from '../../../../api/queries/look-up.ts';

function rowBytes(ruc: bigint, version: bigint, isDeleted: number, cells: string[]): Buffer {
  const text = Buffer.from(JSON.stringify(cells));
  const head = Buffer.alloc(18);
  head.writeBigUInt64LE(ruc, 0);
  head.writeUInt8(1, 8);
  head.writeBigUInt64LE(version, 9);
  head.writeUInt8(isDeleted, 17);
  const length: number[] = [];
  for (let rest = text.length; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) {
      length.push(rest);
      break;
    }
    length.push((rest % 128) + 128);
  }
  return Buffer.concat([head, Buffer.from(length), text]);
}

test('rows with short and long texts, beyond 32 bits, in any letters', () => {
  const long = ['Ñ'.repeat(200), '"'];
  const bytes = Buffer.concat([rowBytes(20990000019n, 4294967299n, 0, ['A']), rowBytes(20999999999n, 2n, 0, long)]);
  expect(readTaxpayerRows(bytes)).toEqual(
    new Map([
      [20990000019, [{ register: 1, version: 4294967299, isDeleted: false, cells: ['A'] }]],
      [20999999999, [{ register: 1, version: 2, isDeleted: false, cells: long }]],
    ]),
  );
});

test('a deleted row says which edition it left with, and holds nothing', () => {
  expect(readTaxpayerRows(rowBytes(20990000019n, 2n, 1, [])).get(20990000019)).toEqual([
    { register: 1, version: 2, isDeleted: true, cells: [] },
  ]);
});

test('of rows that are not merged yet the newest is told, in whatever order they come', () => {
  const versions = [
    rowBytes(20990000019n, 2n, 0, ['B']),
    rowBytes(20990000019n, 3n, 1, []),
    rowBytes(20990000019n, 1n, 0, ['A']),
  ];
  for (const order of [
    [0, 1, 2],
    [1, 2, 0],
    [2, 0, 1],
  ]) {
    const bytes = Buffer.concat(order.map((at) => versions[at]!));
    expect(readTaxpayerRows(bytes).get(20990000019)).toEqual([{ register: 1, version: 3, isDeleted: true, cells: [] }]);
  }
});

test('an answer cut anywhere is an error and never a shorter answer', () => {
  const whole = Buffer.concat([rowBytes(20990000019n, 1n, 0, ['A', 'B']), rowBytes(20990000027n, 1n, 0, ['C'])]);
  const first = rowBytes(20990000019n, 1n, 0, ['A', 'B']).length;
  for (let end = 1; end < whole.length; end += 1) {
    if (end === first) continue;
    expect(() => readTaxpayerRows(whole.subarray(0, end))).toThrow();
  }
});
