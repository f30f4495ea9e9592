import { expect, test } from 'vitest';
import { minuteOf, monthOf, secondsUntil } from '../../../../api/metering/minute-limits.ts';

test('a month begins and ends at 00:00 in Lima, five hours after UTC', () => {
  const lastSecond = monthOf(Date.parse('2027-01-01T04:59:59.999Z'));
  expect(lastSecond.firstDay).toBe('2026-12-01');
  expect(new Date(lastSecond.endsAtMs).toISOString()).toBe('2027-01-01T05:00:00.000Z');
  expect(monthOf(lastSecond.endsAtMs).firstDay).toBe('2027-01-01');
  expect(
    (monthOf(Date.parse('2028-02-10T12:00:00Z')).endsAtMs - monthOf(Date.parse('2028-02-10T12:00:00Z')).startsAtMs) /
      86_400_000,
  ).toBe(29);
});

test('after the seconds that are shown the period has passed', () => {
  const { endsAtMs } = minuteOf(Date.parse('2026-11-28T10:00:59.001Z'));
  expect(new Date(endsAtMs).toISOString()).toBe('2026-11-28T10:01:00.000Z');
  expect(secondsUntil(endsAtMs, endsAtMs - 999)).toBe(1);
  expect(secondsUntil(endsAtMs, endsAtMs - 1_001)).toBe(2);
  expect(secondsUntil(endsAtMs, endsAtMs)).toBe(1);
});
