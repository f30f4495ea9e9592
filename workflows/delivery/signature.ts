import { Webhook } from 'standardwebhooks';

/**
 * Returns the signatures of a delivery by Standard Webhooks, separated by spaces. Each is `v1,` and base64. During a
 * rotation every valid secret signs, newest first, so a receiver that reads only the first signature sees the newest.
 */
export function sign(secrets: readonly string[], deliveryId: string, timestampSeconds: number, body: string): string {
  if (secrets.length === 0) throw new RangeError('a delivery needs at least one secret');
  if (!/^[^.\s]+$/.test(deliveryId))
    throw new RangeError('a delivery id with a dot would make signed contents ambiguous');
  const at = new Date(timestampSeconds * 1_000);
  return secrets.map((secret) => signerOf(secret).sign(deliveryId, at, body)).join(' ');
}

function signerOf(secret: string): Webhook {
  // The library also accepts base64 without the prefix `whsec_`, but a secret of this service always has it.
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) throw new RangeError('a webhook secret is whsec_ and base64');
  return new Webhook(secret);
}

/** All headers of an attempt. The `x-service-…` headers have the same values as those of Standard Webhooks. */
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
