import type { ClaimedDelivery, WebhookTarget } from '../../../pipelines/webhooks/claim.ts';

/** A first attempt at a notice, as a claim gives it. */
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

/** Its webhook; what it is signed with is given apart. */
export function targetAt(url: string): WebhookTarget {
  return { id: 'wh_1', url, estado: 'activo', rateLimit: 1, inFlightLimit: 1, timeoutsInARow: 0, secrets: [] };
}
