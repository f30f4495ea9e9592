import { createHmac } from 'node:crypto';
import type { ClaimedDelivery } from '../../pipelines/webhooks/claim.ts';

/**
 * Returns a delivery's signatures by Standard Webhooks, separated by spaces. Each is `v1,` and base64. While a secret
 * is being replaced, every valid secret signs. The newest secret signs first, because a receiver may read only the
 * first signature.
 */
export function sign(secrets: readonly string[], deliveryId: string, timestampSeconds: number, body: string): string {
  if (secrets.length === 0) throw new RangeError('a delivery needs at least one secret');
  if (!/^[^.\s]+$/.test(deliveryId))
    throw new RangeError('a delivery id with a dot would make signed contents ambiguous');
  const prefix = `${deliveryId}.${timestampSeconds}.`;
  const signatureOf = (secret: string) =>
    createHmac('sha256', keyOf(secret)).update(prefix).update(body).digest('base64');
  return secrets.map((secret) => `v1,${signatureOf(secret)}`).join(' ');
}

function keyOf(secret: string): Buffer {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) throw new RangeError('a webhook secret is whsec_ and base64');
  return Buffer.from(secret.slice('whsec_'.length), 'base64');
}

/** All headers of an attempt. The `x-service-…` headers repeat the values of Standard Webhooks' `webhook-…` headers. */
export function deliveryHeaders(
  { id, event, payload }: Pick<ClaimedDelivery, 'id' | 'event' | 'payload'>,
  secrets: readonly string[],
  timestampSeconds: number,
  version: string,
): Record<string, string> {
  const signature = sign(secrets, id, timestampSeconds, payload);
  const timestamp = String(timestampSeconds);
  return {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': `Padron-Webhooks/${version}`,
    accept: '*/*',
    'x-service-event': event,
    'x-service-delivery': id,
    'x-service-timestamp': timestamp,
    'x-service-signature': signature,
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  };
}
