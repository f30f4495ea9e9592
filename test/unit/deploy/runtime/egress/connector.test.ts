import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { guardedLookup, makeEgressDispatcher } from '../../../../../deploy/runtime/egress/dispatcher.ts';
import { networkFailure } from '../../../../../deploy/runtime/egress/failure.ts';
import type { EgressPolicy } from '../../../../../deploy/runtime/egress/policy.ts';

const strict: EgressPolicy = { allowPrivateTargets: false };
const limits = {
  connectTimeoutMs: 2_000,
  headersTimeoutMs: 2_000,
  bodyIdleTimeoutMs: 2_000,
  connectionsPerOrigin: 2,
  keepAliveMs: 1_000,
};

/** What a connection to `url` fails with, when every name has `addresses`. */
async function failureAt(url: string, addresses: readonly string[] = []): Promise<string> {
  const dispatcher = makeEgressDispatcher(strict, limits, async () => addresses);
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

describe('at connect, without any check before', () => {
  it.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://[::1]/',
    'https://[::ffff:7f00:1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://0.0.0.0/',
    'https://169.254.169.254/',
  ])('an address in the URL is checked: %s', async (url) => expect(await failureAt(url)).toBe('address_not_allowed'));

  it.each([
    [['127.0.0.1']],
    [['::1']],
    [['93.184.216.34', '127.0.0.1']],
    [['93.184.216.34', '::1']],
    [['::ffff:169.254.169.254']],
  ])('every address of a name is checked: %j', async (addresses) => {
    expect(await failureAt('https://rebinding.example.com/', addresses)).toBe('address_not_allowed');
  });

  it('ports and schemes are checked', async () => {
    expect(await failureAt('https://93.184.216.34:6379/')).toBe('port');
    expect(await failureAt('http://93.184.216.34/')).toBe('scheme');
  });

  it('a name without addresses', async () =>
    expect(await failureAt('https://nowhere.example.com/')).toBe('name_not_resolved'));

  it('the name is asked again at each new connection, so a name that turns inwards is caught', async () => {
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

describe('the lookup answers in the form it was asked in', () => {
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

describe('failures are told as classes', () => {
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
