import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Dispatcher } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startReceiver } from '../../../../deploy/local/demo/receiver.ts';
import { makeEgressDispatcher } from '../../../../pipelines/runtime/egress/dispatcher.ts';
import { type ExchangeResult, exchange } from '../../../../pipelines/runtime/egress/exchange.ts';
import type { EgressPolicy } from '../../../../pipelines/runtime/egress/policy.ts';
import { guardedRequest } from '../../../../pipelines/runtime/egress/request.ts';
import { type Authority, makeAuthority } from '../../../support/delivery/authority.ts';
import { hang, startProgrammedReceiver, status } from '../../../support/delivery/receiver.ts';

const limits = {
  connectTimeoutMs: 1_000,
  headersTimeoutMs: 5_000,
  bodyIdleTimeoutMs: 5_000,
  connectionsPerOrigin: 1_000,
  keepAliveMs: 4_000,
};
let authority: Authority;
let policy: EgressPolicy;
let dispatcher: Dispatcher;

beforeAll(async () => {
  authority = await makeAuthority('Egress test authority');
  policy = { allowPrivateTargets: true, extraCaPem: authority.caPem };
  dispatcher = makeEgressDispatcher(policy, limits);
});
afterAll(() => dispatcher.destroy());

function post(url: string, using: Dispatcher = dispatcher): Promise<ExchangeResult> {
  const message = { url: new URL(url), headers: {}, body: Buffer.from('secret body') };
  return exchange(using, message, { exchangeTimeoutMs: 3_000, maxBodyBytes: 16_384 });
}

const failure = async (url: string) => {
  const result = await post(url);
  return result.answered ? `answered ${result.status}` : result.failure;
};

describe('a receiver with an invalid certificate gets no byte of the delivery', () => {
  it.each([
    [
      'expired',
      { names: ['127.0.0.1'], notBefore: new Date(0), notAfter: new Date('2020-01-01') },
      'certificate_expired',
    ],
    ['for another name', { names: ['other.example.com'] }, 'certificate_wrong_name'],
  ])('%s', async (_name, options, expected) => {
    const receiver = await startReceiver({ certificate: await authority.issue(options) });
    expect(await failure(`${receiver.origin}/`)).toBe(expected);
    expect(receiver.notices).toHaveLength(0);
    await receiver.close();
  });

  it('of an untrusted authority, even when the environment turns verification off', async () => {
    const receiver = await startReceiver();
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      expect(await failure(`${receiver.origin}/`)).toBe('certificate_untrusted');
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
    expect(receiver.notices).toHaveLength(0);
    await receiver.close();
  });

  it('an old version of TLS, and a server that speaks no TLS', async () => {
    const { certificatePem, keyPem } = await authority.issue({ names: ['127.0.0.1'] });
    const old = createTlsServer({ cert: certificatePem, key: keyPem, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' });
    const plain = createServer((_request, response) => response.end());
    for (const server of [old, plain]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      expect(await failure(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`)).toBe('tls_failed');
      server.close();
    }
  });
});

describe('a connection', () => {
  it('to a closed port fails; to a server that never answers it ends at the limit', async () => {
    const receiver = await startProgrammedReceiver(authority);
    receiver.answer(hang);
    const began = Date.now();
    expect(await failure(`${receiver.origin}/`)).toBe('timeout');
    expect(Date.now() - began).toBeLessThan(4_500);
    await receiver.close();
    expect(await failure(`${receiver.origin}/`)).toBe('no_connection');
  });

  it('is direct, whatever proxy the environment names', async () => {
    let asked = 0;
    const proxy = createServer((_request, response) => {
      asked += 1;
      response.end();
    });
    proxy.on('connect', (_request, socket) => {
      asked += 1;
      socket.end();
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY'];
    const before = names.map((name) => process.env[name]);
    for (const name of names) process.env[name] = address;
    const receiver = await startProgrammedReceiver(authority);
    const fresh = makeEgressDispatcher(policy, limits);
    expect(await post(`${receiver.origin}/`, fresh)).toMatchObject({ answered: true, status: 204 });
    names.forEach((name, index) => {
      if (before[index] === undefined) delete process.env[name];
      else process.env[name] = before[index];
    });
    expect(asked).toBe(0);
    await fresh.destroy();
    await receiver.close();
    proxy.close();
  });

  it('by name goes to what the name resolves to', async () => {
    const receiver = await startProgrammedReceiver(authority);
    const named = makeEgressDispatcher(policy, limits, async () => ['127.0.0.1']);
    expect(await post(`https://localhost:${receiver.port}/`, named)).toMatchObject({ answered: true, status: 204 });
    const inwards = makeEgressDispatcher(
      { ...policy, allowPrivateTargets: false, allowedPorts: [receiver.port] },
      limits,
      async () => ['127.0.0.1'],
    );
    expect(await post(`https://localhost:${receiver.port}/`, inwards)).toEqual({
      answered: false,
      failure: 'address_not_allowed',
    });
    expect(receiver.notices).toHaveLength(1);
    await Promise.all([named.destroy(), inwards.destroy(), receiver.close()]);
  });

  it('is kept and used again: 300 requests to one host, 10 at a time, need about 10', async () => {
    let connections = 0;
    const receiver = await startProgrammedReceiver(authority);
    receiver.answer((notice, response, request) => {
      const socket = request.socket as typeof request.socket & { counted?: boolean };
      if (socket.counted !== true) connections += 1;
      socket.counted = true;
      return status(204)(notice, response, request);
    });
    let waiting = 300;
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        while (waiting > 0) {
          waiting -= 1;
          expect(await post(`${receiver.origin}/`)).toMatchObject({ answered: true, status: 204 });
        }
      }),
    );
    expect(receiver.notices).toHaveLength(300);
    expect(connections).toBeLessThanOrEqual(15);
    await receiver.close();
  });
});

it('a download returns a redirect as it is, streams, and passes the same guard', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/moved') response.writeHead(302, { location: '/file' }).end();
    else response.writeHead(200).end('bytes');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const downloads: EgressPolicy = { allowPrivateTargets: true, allowHttp: true };
  const using = makeEgressDispatcher(downloads, limits);
  const moved = await guardedRequest(using, downloads, { url: `${origin}/moved`, method: 'GET' });
  expect([moved.status, moved.headers.location]).toEqual([302, '/file']);
  moved.body.destroy();
  const file = await guardedRequest(using, downloads, { url: `${origin}/file`, method: 'GET' });
  expect(Buffer.concat(await file.body.toArray()).toString()).toBe('bytes');
  const refused = guardedRequest(
    using,
    { ...downloads, allowPrivateTargets: false },
    { url: `${origin}/file`, method: 'GET' },
  );
  await expect(refused).rejects.toMatchObject({ code: 'egress_failed', retryable: false });
  await using.destroy();
  server.close();
});
