import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  defaultSchedule,
  honoursRetryAfter,
  nextDelayMs,
  parseRetryAfter,
} from '../../../../workflows/delivery/backoff.ts';

describe('the retry schedule', () => {
  it('is ten attempts over 75 h 35 min 5 s, then nothing', () => {
    const waits = Array.from({ length: 10 }, (_, index) => nextDelayMs(defaultSchedule, index + 1, null, 0.5));
    expect(waits.map((wait) => (wait === null ? null : wait / 1_000))).toEqual([
      5,
      300,
      1_800,
      7_200,
      18_000,
      36_000,
      50_400,
      72_000,
      86_400,
      null,
    ]);
    expect(waits.reduce<number>((sum, wait) => sum + (wait ?? 0), 0)).toBe(((75 * 60 + 35) * 60 + 5) * 1_000);
  });

  it('varies each wait by 20 % both ways', () => {
    const attempt = fc.integer({ min: 1, max: 9 });
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(attempt, random, (attempts, chance) => {
        const base = defaultSchedule.delaysMs[attempts - 1]!;
        const wait = nextDelayMs(defaultSchedule, attempts, null, chance)!;
        return wait >= base * 0.8 - 1 && wait <= base * 1.2 + 1;
      }),
    );
  });

  it('waits longer if the receiver asks for it, 24 h at most, and never shorter', () => {
    expect(nextDelayMs(defaultSchedule, 1, 60_000, 0.5)).toBe(60_000);
    expect(nextDelayMs(defaultSchedule, 2, 1_000, 0.5)).toBe(300_000);
    expect(nextDelayMs(defaultSchedule, 1, 1_000 * 86_400_000, 0.5)).toBe(86_400_000);
    expect(nextDelayMs(defaultSchedule, 10, 60_000, 0.5)).toBeNull();
  });
});

describe('Retry-After', () => {
  const now = Date.UTC(2026, 10, 27, 9, 0, 0);
  it.each([
    ['120', 120_000],
    ['0', 0],
    [' 120\t', 120_000],
    ['9999999999', 9_999_999_999_000],
    ['Fri, 27 Nov 2026 09:01:00 GMT', 60_000],
    ['Fri, 27 Nov 2026 08:00:00 GMT', 0],
  ])('"%s" is %d ms', (text, expected) => expect(parseRetryAfter(text, now)).toBe(expected));

  it.each([
    '',
    ' ',
    'inf',
    'Infinity',
    'NaN',
    '1e30',
    '1e3',
    '-5',
    '+5',
    '1.5',
    '0x10',
    '0b1',
    '1_000',
    '120abc',
    '120 s',
    '99999999999999999999',
    '١٢٠',
    '120, 60',
    'tomorrow',
    '2026-11-27T09:01:00Z',
    'Fri, 27 Nov 2026 09:01:00 +0000',
    'Thu, 27 Nov 2026 09:01:00 GMT',
    'Tue, 31 Feb 2026 09:01:00 GMT',
    'Fri, 27 Nov 2026 25:01:00 GMT',
    'Fri, 27 Nov 99999 09:01:00 GMT',
    'Friday, 27-Nov-26 09:01:00 GMT',
    '\u0000120',
  ])('"%s" asks for nothing', (text) => expect(parseRetryAfter(text, now)).toBeNull());

  it('is ignored if it was sent more than once', () => {
    for (const twice of [['1', '2'], ['120', '120'], []]) expect(parseRetryAfter(twice, now)).toBeNull();
    expect(parseRetryAfter(undefined, now)).toBeNull();
  });

  it('may name a far date, which is then limited', () => {
    const wait = parseRetryAfter('Fri, 31 Dec 9999 23:59:59 GMT', now);
    expect(nextDelayMs(defaultSchedule, 1, wait, 0)).toBe(86_400_000);
  });

  it('never gives anything but null or a whole, finite, non-negative number', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const wait = parseRetryAfter(text, now);
        return wait === null || (Number.isSafeInteger(wait) && wait >= 0);
      }),
    );
  });

  it('counts only with 429 and 503', () => {
    expect([200, 301, 400, 404, 410, 429, 500, 502, 503, 504].filter(honoursRetryAfter)).toEqual([429, 503]);
  });
});
