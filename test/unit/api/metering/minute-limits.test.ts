import { expect, test } from 'vitest';
import { addressSubject } from '../../../../api/metering/minute-limits.ts';

test('addresses of the sandbox: IPv4 as it is, also inside IPv6; IPv6 as its network of 64 bits', () => {
  const key = (ip: string) => addressSubject(ip).key;
  expect(key('192.0.2.7')).toBe('address:192.0.2.7');
  expect(key('::ffff:192.0.2.7')).toBe(key('192.0.2.7'));
  expect(key('2001:db8:1:2::1')).toBe(key('2001:db8:1:2:ffff::9'));
  expect(key('2001:db8:1:3::1')).not.toBe(key('2001:db8:1:2::1'));
  expect(key('spoofed, text')).toBe('address:unknown');
  expect(addressSubject('192.0.2.7').limit).toBe(60);
});
