import { afterAll, expect, it } from 'vitest';
import { makeEgressDispatcher } from '../../../../pipelines/runtime/egress/dispatcher.ts';
import { sendAttempt } from '../../../../workflows/delivery/attempt.ts';
import { defaultDeliverySettings } from '../../../../workflows/delivery/worker.ts';
import { claimedDelivery, targetAt } from '../../../support/delivery/claimed-delivery.ts';
import { refusedTargets, resolveInside } from '../../../support/delivery/refused-targets.ts';

// Retries, tests and resends all use the same attempt. It refuses such a URL however it came into the table.
const policy = { allowPrivateTargets: false, ownBaseUrls: ['https://api.padron.pe'] };
const { egress, exchange, schedule } = defaultDeliverySettings;
const dispatcher = makeEgressDispatcher(policy, egress, resolveInside);
afterAll(() => dispatcher.destroy());

it.each(refusedTargets)('row $row, stored as it is, shows only a class of failure: $url', async ({ url }) => {
  const parts = { dispatcher, policy, limits: exchange, schedule, version: '1.0.0' };
  const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'];
  const result = await sendAttempt(parts, targetAt(url), secrets, claimedDelivery());
  expect(result).toMatchObject({ success: false, httpStatus: null, failure: 'direccion_no_permitida', response: null });
});
