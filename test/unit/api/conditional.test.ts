import { describe, expect, test } from 'vitest';
import { type Conditions, isCurrent, readHttpDate, wholeSecondFrom } from '../../../api/conditional.ts';

const etag = 'W/"2-abc"';
const modified = new Date('2026-11-26T09:00:00.001Z');
const modifiedMs = wholeSecondFrom(modified);
const current = (conditions: Conditions, at: number | null = modifiedMs) => isCurrent(conditions, etag, at);

describe('If-Modified-Since', () => {
  test.each([
    ['the second of the change', 'Thu, 26 Nov 2026 09:00:00 GMT', false],
    ['the next second', 'Thu, 26 Nov 2026 09:00:01 GMT', true],
    ['a later date', 'Fri, 27 Nov 2026 00:00:00 GMT', true],
    ['an earlier date', 'Thu, 26 Nov 2026 08:59:59 GMT', false],
    ['no date', 'ayer', false],
    ['another date format', '2026-11-27T00:00:00Z', false],
    ['nothing', '', false],
  ])('%s', (_, since, expected) => {
    expect(current({ 'if-modified-since': since })).toBe(expected);
  });

  test('a change exactly at a second counts from that second on', () => {
    const at = wholeSecondFrom(new Date('2026-11-26T09:00:00.000Z'));
    expect(current({ 'if-modified-since': 'Thu, 26 Nov 2026 09:00:00 GMT' }, at)).toBe(true);
  });

  test('says nothing while it is not known when the answer changed', () => {
    expect(current({ 'if-modified-since': 'Fri, 27 Nov 2026 00:00:00 GMT' }, null)).toBe(false);
    expect(current({ 'if-none-match': etag }, null)).toBe(true);
  });

  test('counts for nothing beside If-None-Match', () => {
    const late = { 'if-modified-since': 'Fri, 27 Nov 2026 00:00:00 GMT' };
    const early = { 'if-modified-since': 'Thu, 26 Nov 2020 00:00:00 GMT' };
    expect(current({ ...late, 'if-none-match': 'W/"other"' })).toBe(false);
    expect(current({ ...late, 'if-none-match': '' })).toBe(false);
    expect(current({ ...early, 'if-none-match': etag })).toBe(true);
  });
});

test.each([etag, '"2-abc"', '*', `"other", ${etag}`, `${etag},"other"`])('If-None-Match: %s', (tags) =>
  expect(current({ 'if-none-match': tags })).toBe(true),
);

test('without a condition the answer is sent', () => expect(current({})).toBe(false));

describe('dates of HTTP (RFC 9110, section 5.6.7)', () => {
  const now = Date.UTC(2026, 10, 29);
  test.each([
    ['Sun, 06 Nov 1994 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
    ['Sunday, 06-Nov-94 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
    ['Sun Nov  6 08:49:37 1994', '1994-11-06T08:49:37.000Z'],
    ['Thursday, 26-Nov-26 08:49:37 GMT', '2026-11-26T08:49:37.000Z'],
    ['Thursday, 26-Nov-76 08:49:37 GMT', '2076-11-26T08:49:37.000Z'],
    ['Thursday, 26-Nov-77 08:49:37 GMT', '1977-11-26T08:49:37.000Z'],
  ])('%s', (text, expected) => expect(new Date(readHttpDate(text, now)!).toISOString()).toBe(expected));

  test.each([
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 -0500',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'sun, 06 nov 1994 08:49:37 gmt',
    'Sun, 31 Feb 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:00 GMT',
    '784111777',
    '2026',
    '',
  ])('%s is none', (text) => expect(readHttpDate(text, now)).toBeNull());
});
