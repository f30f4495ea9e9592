import { expect, test } from 'vitest';
import { addressSubject } from '../../../../api/metering/counted.ts';
import { minuteOf, monthOf, secondsUntil } from '../../../../api/metering/periods.ts';

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

test('one who waits the seconds that are said finds the period past', () => {
  const { endsAtMs } = minuteOf(Date.parse('2026-11-28T10:00:59.001Z'));
  expect(new Date(endsAtMs).toISOString()).toBe('2026-11-28T10:01:00.000Z');
  expect(secondsUntil(endsAtMs, endsAtMs - 999)).toBe(1);
  expect(secondsUntil(endsAtMs, endsAtMs - 1_001)).toBe(2);
  expect(secondsUntil(endsAtMs, endsAtMs)).toBe(1);
});

test('addresses of the sandbox: IPv4 as it is, also inside IPv6; of IPv6 the network of 64 bits', () => {
  const key = (ip: string) => addressSubject(ip).key;
  expect(key('192.0.2.7')).toBe('address:192.0.2.7');
  expect(key('::ffff:192.0.2.7')).toBe(key('192.0.2.7'));
  expect(key('2001:db8:1:2::1')).toBe(key('2001:db8:1:2:ffff::9'));
  expect(key('2001:db8:1:3::1')).not.toBe(key('2001:db8:1:2::1'));
  expect(key('spoofed, text')).toBe('address:unknown');
  expect(addressSubject('192.0.2.7').limit).toBe(60);
});
