import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { makeEgressDispatcher } from '../../../../../pipelines/runtime/egress/dispatcher.ts';
import { networkFailure } from '../../../../../pipelines/runtime/egress/failure.ts';
import type { EgressPolicy } from '../../../../../pipelines/runtime/egress/policy.ts';
import { checkTargetUrl, resolveTarget } from '../../../../../pipelines/runtime/egress/target.ts';
import { refusedAddresses, refusedTargets, resolveInside } from '../../../../support/delivery/refused-targets.ts';

const policy: EgressPolicy = { allowPrivateTargets: false, ownBaseUrls: ['https://api.padron.pe'] };
const limits = {
  connectTimeoutMs: 20_000,
  headersTimeoutMs: 20_000,
  bodyIdleTimeoutMs: 20_000,
  connectionsPerOrigin: 1,
  keepAliveMs: 1_000,
};

const connectable = refusedTargets.filter(({ atConnect }) => atConnect !== null);

describe('when a webhook is created, changed or tried', () => {
  it.each(refusedTargets)('row $row: $url', async ({ url }) => {
    const check = checkTargetUrl(url, policy);
    const resolved = check.ok ? await resolveTarget(check.url, policy, resolveInside) : check;
    expect(resolved.ok).toBe(false);
  });
});

describe('at connect, whatever was checked before', () => {
  it.each(connectable)('row $row: $url', async ({ url, atConnect }) => {
    expect(await connectionTo(url, resolveInside)).toBe(atConnect);
  });

  it.each(refusedAddresses.map((addresses) => [addresses]))('rows 32-34: a name with %j', async (addresses) => {
    expect(await connectionTo('https://mixed.example.com/', async () => addresses)).toBe('address_not_allowed');
  });
});

async function connectionTo(url: string, resolve: (host: string) => Promise<readonly string[]>): Promise<string> {
  const dispatcher = makeEgressDispatcher(policy, limits, resolve);
  try {
    const answer = await request(url, { dispatcher });
    await answer.body.dump();
    return `answered ${answer.statusCode}`;
  } catch (error) {
    return networkFailure(error);
  } finally {
    await dispatcher.destroy();
  }
}
