import { describe, expect, test } from 'vitest';
import { isSameFile, rangeOf } from '../../../../api/editions/ranges.ts';

describe('Range over ten bytes', () => {
  test.each([
    ['bytes=0-3', { first: 0, last: 3 }],
    ['bytes=4-', { first: 4, last: 9 }],
    ['bytes=4-400', { first: 4, last: 9 }],
    ['bytes=9-9', { first: 9, last: 9 }],
    ['bytes=-3', { first: 7, last: 9 }],
    ['bytes=-30', { first: 0, last: 9 }],
    ['BYTES=0-0', { first: 0, last: 0 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=10-12', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    [undefined, 'whole'],
    ['', 'whole'],
    ['bytes=-', 'whole'],
    ['bytes=5-4', 'whole'],
    ['bytes=0-1,4-5', 'whole'],
    ['bytes=a-b', 'whole'],
    ['lines=0-1', 'whole'],
    ['bytes=9999999999999999-', 'whole'],
  ])('%s', (header, expected) => {
    expect(rangeOf(header, 10)).toEqual(expected);
  });

  test('an empty file has no part', () => {
    for (const header of ['bytes=0-', 'bytes=-1']) expect(rangeOf(header, 0)).toBe('unsatisfiable');
  });
});

describe('If-Range', () => {
  const modifiedMs = Date.UTC(2026, 10, 26, 9);
  test.each([
    [undefined, true],
    ['"a"', true],
    ['Thu, 26 Nov 2026 09:00:00 GMT', true],
    ['W/"a"', false],
    ['"b"', false],
    ['"a", "b"', false],
    ['Thu, 26 Nov 2026 09:00:01 GMT', false],
    ['ayer', false],
  ])('%s', (header, expected) => {
    expect(isSameFile(header, '"a"', modifiedMs)).toBe(expected);
  });
});
