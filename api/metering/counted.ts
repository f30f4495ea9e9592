import ipaddr from 'ipaddr.js';
import type { Caller } from '../accounts/callers.ts';
import { ApiProblem } from '../problems.ts';
import type { ApiContext } from '../request.ts';
import { showMinute } from './headers.ts';
import type { MinuteLimits, MinuteSubject } from './minute-limits.ts';
import { secondsUntil } from './periods.ts';

/** Requests per minute of one address with the sandbox token, or with a token that cannot be looked up. */
export const addressRequestsPerMinute = 60;

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

/**
 * Counts the request, whatever its route, and says in the headers what is left of the minute.
 * @throws ApiProblem limite_por_minuto, with the seconds to the next minute as Retry-After
 */
export async function countRequest(context: ApiContext, limits: MinuteLimits, subject: MinuteSubject): Promise<void> {
  const standing = await limits.count(subject);
  const nowMs = Date.now();
  showMinute(context, standing, nowMs);
  if (standing.isWithin) return;
  const seconds = secondsUntil(standing.endsAtMs, nowMs);
  throw new ApiProblem(
    'limite_por_minuto',
    `Se admiten ${subject.limit} solicitudes por minuto; el siguiente minuto empieza en ${seconds} s.`,
    {},
    { 'Retry-After': String(seconds) },
  );
}
