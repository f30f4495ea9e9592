import { describe, expect, it } from 'vitest';
import { guardedLookup } from '../../../../../pipelines/runtime/egress/dispatcher.ts';
import { networkFailure } from '../../../../../pipelines/runtime/egress/failure.ts';
import type { EgressPolicy } from '../../../../../pipelines/runtime/egress/policy.ts';

const strict: EgressPolicy = { allowPrivateTargets: false };

describe('at connect, without an earlier check', () => {
  it('a name without addresses is distinguished from one that is refused', async () => {
    const lookup = guardedLookup(strict, async () => []);
    const problem = await new Promise((resolve) => lookup('nowhere.example.com', { all: true }, resolve));
    expect(problem).toMatchObject({ name: 'EgressRefused', problem: 'name_not_resolved' });
  });

  it('the name is resolved at each new connection, so one that changes to a private address is refused', async () => {
    const answers = [['93.184.216.34'], ['127.0.0.1']];
    const lookup = guardedLookup(strict, async () => answers.shift()!);
    const ask = () =>
      new Promise((resolve) =>
        lookup('rebinding.example.com', { all: true }, (error, found) => resolve(error?.name ?? found)),
      );
    expect(await ask()).toEqual([{ address: '93.184.216.34', family: 4 }]);
    expect(await ask()).toBe('EgressRefused');
  });
});

describe('the lookup answers in the requested form', () => {
  const lookup = guardedLookup(strict, async () => ['93.184.216.34', '2606:4700::1']);
  it('a list with all, one address without, the family where one is named', async () => {
    const ask = (options: object) =>
      new Promise((resolve) => lookup('example.com', options, (_error, ...found) => resolve(found)));
    expect(await ask({ all: true })).toEqual([
      [
        { address: '93.184.216.34', family: 4 },
        { address: '2606:4700::1', family: 6 },
      ],
    ]);
    expect(await ask({})).toEqual(['93.184.216.34', 4]);
    expect(await ask({ family: 6 })).toEqual(['2606:4700::1', 6]);
  });
});

describe('failures are reported as classes', () => {
  it.each([
    ['CERT_HAS_EXPIRED', 'certificate_expired'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate_untrusted'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate_wrong_name'],
    ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'tls_failed'],
    ['ENOTFOUND', 'name_not_resolved'],
    ['ECONNREFUSED', 'no_connection'],
    ['ECONNRESET', 'connection_lost'],
    ['UND_ERR_CONNECT_TIMEOUT', 'connect_timeout'],
    ['HPE_INVALID_CONSTANT', 'answer_malformed'],
    ['SOMETHING_NEW', 'connection_lost'],
  ])('%s → %s', (code, expected) => {
    const error = Object.assign(new Error('connect 10.1.2.3:443'), { code });
    expect(networkFailure(error)).toBe(expected);
    expect(networkFailure(new AggregateError([error]))).toBe(expected);
    expect(networkFailure(new Error('fetch failed', { cause: error }))).toBe(expected);
  });
});
