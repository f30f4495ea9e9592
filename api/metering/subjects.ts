import ipaddr from 'ipaddr.js';
import type { Caller } from '../accounts/callers.ts';

/** Whose requests are counted together: an account, or an address that uses the sandbox token. */
export interface MinuteSubject {
  key: string;
  /** Requests per clock minute. */
  limit: number;
}

/** Requests per minute of one address with the sandbox token, or with a token that cannot be looked up. */
const addressRequestsPerMinute = 60;

export function accountSubject({ accountId, requestsPerMinute }: Caller): MinuteSubject {
  return { key: `account:${accountId}`, limit: requestsPerMinute };
}

/** Of IPv6 the network of 64 bits, since that is what one customer is given. */
export function addressSubject(ip: string): MinuteSubject {
  const address = ipaddr.isValid(ip) ? ipaddr.process(ip) : null;
  const counted =
    address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : (address?.toString() ?? 'unknown');
  return { key: `address:${counted}`, limit: addressRequestsPerMinute };
}
