import type { ClaimedDelivery, WebhookTarget } from '../../../pipelines/webhooks/claim.ts';

/** A delivery claimed for its first attempt. */
export function claimedDelivery(parts: Partial<ClaimedDelivery> = {}): ClaimedDelivery {
  return {
    day: '2026-11-27',
    id: 'en_1',
    leaseToken: 't',
    attempt: 1,
    failuresOfCycle: 0,
    isTest: false,
    event: 'ruc.baja',
    register: 'padron_reducido',
    edition: 2,
    occurredAt: new Date(),
    payload: '{}',
    ...parts,
  };
}

/** The delivery's webhook, without secrets: tests pass those separately. */
export function targetAt(url: string): WebhookTarget {
  return { id: 'wh_1', url, estado: 'activo', rateLimit: 1, inFlightLimit: 1, timeoutsInARow: 0, secrets: [] };
}
