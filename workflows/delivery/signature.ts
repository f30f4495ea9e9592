import { createHmac } from 'node:crypto';

/**
 * Standard Webhooks `v1`: HMAC-SHA256 in base64 over `{delivery id}.{seconds}.{body}` with the bytes behind `whsec_`.
 * During a rotation every live secret signs, newest first: a receiver that reads only the first sees the newest.
 */
export function sign(secrets: readonly string[], deliveryId: string, timestampSeconds: number, body: string): string {
  if (secrets.length === 0) throw new RangeError('a delivery needs at least one secret');
  if (!/^[^.\s]+$/.test(deliveryId))
    throw new RangeError('a delivery id with a dot would make signed contents ambiguous');
  const content = `${deliveryId}.${timestampSeconds}.${body}`;
  return secrets
    .map((secret) => `v1,${createHmac('sha256', secretBytes(secret)).update(content, 'utf8').digest('base64')}`)
    .join(' ');
}

function secretBytes(secret: string): Buffer {
  const match = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret);
  if (match === null) throw new RangeError('a webhook secret is whsec_ and base64');
  return Buffer.from(match[1]!, 'base64');
}

/** All headers of an attempt. The service's own and Standard Webhooks' carry the same values. */
export function deliveryHeaders(attempt: {
  secrets: readonly string[];
  deliveryId: string;
  event: string;
  timestampSeconds: number;
  body: string;
  version: string;
}): Record<string, string> {
  const signature = sign(attempt.secrets, attempt.deliveryId, attempt.timestampSeconds, attempt.body);
  const timestamp = String(attempt.timestampSeconds);
  return {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': `Padron-Webhooks/${attempt.version}`,
    accept: '*/*',
    'x-service-event': attempt.event,
    'x-service-delivery': attempt.deliveryId,
    'x-service-timestamp': timestamp,
    'x-service-signature': signature,
    'webhook-id': attempt.deliveryId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  };
}
