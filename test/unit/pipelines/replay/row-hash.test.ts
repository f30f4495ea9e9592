import { describe, expect, test } from 'vitest';
import { FingerprintSum, isSame, RowHash } from '../../../../pipelines/replay/row-hash.ts';

describe('xxHash32 of a row', () => {
  // Published vectors of the algorithm with seed 0. The integration tests compare with ClickHouse's own function.
  test.each([
    ['', 0x02cc5d05],
    ['a', 0x550d7456],
    ['abc', 0x32d153ff],
    ['Nobody inspects the spammish repetition', 0xe2293b2f],
  ])('of %j', (text, hash) => {
    const row = new RowHash();
    row.ofText(text);
    expect(row.xx).toBe(hash);
  });
});

describe('a fingerprint', () => {
  test('is the same in any order, even when the sums exceed what a number holds exactly', () => {
    const most = 0xffff_ffff;
    const [one, other] = [new FingerprintSum(), new FingerprintSum()];
    const rows = 3_000_000;
    for (let row = 0; row < rows; row += 1) {
      one.add(most, most - row);
      other.add(most, most - (rows - 1 - row));
    }
    expect(isSame(one.sum(), other.sum())).toBe(true);
    expect(one.sum().xx).toBe(BigInt(rows) * BigInt(most));
  });

  test('differs when one hash differs', () => {
    const [one, other] = [new FingerprintSum(), new FingerprintSum()];
    one.add(1, 2);
    other.add(1, 3);
    expect(isSame(one.sum(), other.sum())).toBe(false);
  });
});
