import { afterAll, expect, it } from 'vitest';
import { makeEgressDispatcher } from '../../../../deploy/runtime/egress/dispatcher.ts';
import { sendAttempt } from '../../../../workflows/delivery/attempt.ts';
import { defaultDeliverySettings } from '../../../../workflows/delivery/settings.ts';
import { refusedTargets, resolveInside } from '../../../support/egress-rows.ts';

// Retries, tests and resends all go through one attempt: a URL that came into the table in whatever way is refused there.
const policy = { allowPrivateTargets: false, ownBaseUrls: ['https://api.padron.pe'] };
const { egress, exchange, schedule } = defaultDeliverySettings;
const dispatcher = makeEgressDispatcher(policy, egress, resolveInside);
afterAll(() => dispatcher.destroy());

it.each(refusedTargets)('row $row, stored as it is, tells one class and nothing else: $url', async ({ url }) => {
  const parts = { dispatcher, policy, limits: exchange, schedule, version: '1.0.0' };
  const target = {
    id: 'wh_1',
    url,
    estado: 'activo',
    rateLimit: 1,
    inFlightLimit: 1,
    timeoutsInARow: 0,
    secrets: [],
  } as const;
  const result = await sendAttempt(parts, target, ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'], {
    day: '2026-11-27',
    id: 'en_1',
    leaseToken: 't',
    attempt: 1,
    failuresOfCycle: 0,
    isTest: false,
    event: 'ping',
    register: 'padron_reducido',
    edition: 2,
    occurredAt: new Date(),
    payload: '{}',
  });
  expect(result).toMatchObject({ success: false, httpStatus: null, failure: 'direccion_no_permitida', response: null });
});
