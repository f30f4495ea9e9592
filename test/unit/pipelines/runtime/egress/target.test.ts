import { describe, expect, it } from 'vitest';
import type { EgressPolicy } from '../../../../../pipelines/runtime/egress/policy.ts';
import { checkTargetUrl, resolveTarget } from '../../../../../pipelines/runtime/egress/target.ts';

const strict: EgressPolicy = { allowPrivateTargets: false, ownBaseUrls: ['https://api.padron.pe'] };

function problemOf(text: string, policy: EgressPolicy = strict): string {
  const check = checkTargetUrl(text, policy);
  return check.ok ? 'ok' : check.problem;
}

const addresses = [
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.0.0.1/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://127.0.0.1./',
  'https://localhost./',
  'https://localhost/',
  'HTTPS://LOCALHOST/',
  'https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/',
  'https://app.localhost/',
  'https://0/',
  'https://0.0.0.0/',
  'https://[::]/',
  'https://[::1]/',
  'https://[::127.0.0.1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:0:127.0.0.1]/',
  'https://[64:ff9b::a9fe:a9fe]/',
  'https://[64:ff9b:1::808:808]/',
  'https://[2002:7f00:1::]/',
  'https://[2002:808:808::]/',
  'https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
  'https://[2606:4700::5efe:127.0.0.1]/',
  'https://[fe80::1]/',
  'https://[fc00::1]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
  'https://[100::1]/',
  'https://[5f00::1]/',
  'https://[4000::1]/',
  'https://169.254.169.254/',
  'https://169.254.43518/',
  'https://0xA9FEA9FE/',
  'https://2852039166/',
  'https://[fd00:ec2::254]/',
  'https://metadata.google.internal/',
  'https://printer.local/',
  'https://api.default.svc.cluster.local/',
  'https://intranet/',
  'https://10.0.0.1/',
  'https://172.16.0.1/',
  'https://172.31.255.255/',
  'https://192.168.0.1/',
  'https://100.64.0.1/',
  'https://192.0.0.1/',
  'https://192.88.99.1/',
  'https://198.18.0.1/',
  'https://192.0.2.1/',
  'https://198.51.100.1/',
  'https://203.0.113.1/',
  'https://[2001:db8::1]/',
  'https://224.0.0.1/',
  'https://240.0.0.1/',
  'https://255.255.255.255/',
];
const malformed = [
  'https:127.0.0.1',
  'https:example.com',
  'https:///127.0.0.1/',
  'https:\\\\example.com/',
  'https://exa\tmple.com/',
  ' https://example.com/',
  'https://256.0.0.1/',
  'https://4294967296/',
  'https://example.com:65536/',
  'https://xn--/',
  'https://[fe80::1%25eth0]/',
  'https://',
  '',
  'example.com',
  `https://example.com/${'a'.repeat(2_048)}`,
];
const schemes = [
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://example.com/',
  'data:text/plain,x',
  'ws://example.com/',
  'http://example.com/',
  'javascript:alert(1)',
];
const ports = [0, 22, 25, 80, 2375, 5432, 6379, 7233, 9092, 9200];

describe('a webhook address is refused', () => {
  it.each(addresses)('%s leads inside', (text) => expect(problemOf(text)).toBe('address_not_allowed'));
  it.each(malformed)('"%s" is no address', (text) => expect(problemOf(text)).toBe('malformed'));
  it.each(schemes)('%s is not https', (text) => expect(problemOf(text)).toBe('scheme'));
  it.each(ports)('port %d', (port) => expect(problemOf(`https://example.com:${port}/`)).toBe('port'));
  it.each(['https://example.com@127.0.0.1/', 'https://a:b@example.com/', 'https://@example.com/'])(
    '%s has userinfo',
    (text) => {
      expect(problemOf(text)).toBe('userinfo');
    },
  );
  it.each(['https://api.padron.pe/x', 'https://API.padron.pe./x', 'https://api.padron.pe:8443/'])(
    '%s is ourselves',
    (text) => {
      expect(problemOf(text)).toBe('own_host');
    },
  );
});

describe('a webhook address is allowed', () => {
  it.each([
    'https://example.com/',
    'https://example.com:8443/padron?token=1@2',
    'https://8.8.8.8/',
    'https://172.15.255.255/',
    'https://172.32.0.0/',
    'https://[2606:4700::1]/',
    'https://[::ffff:8.8.8.8]/',
    'https://[64:ff9b::808:808]/',
    'https://notlocalhost.com/',
    'https://ñandú.pe/',
  ])('%s', (text) => expect(problemOf(text)).toBe('ok'));

  it('by its port when the setting names it', () => {
    expect(problemOf('https://example.com:9443/', { allowPrivateTargets: false, allowedPorts: [9443] })).toBe('ok');
    expect(problemOf('https://example.com/', { allowPrivateTargets: false, allowedPorts: [9443] })).toBe('port');
  });

  it('on loopback, any port, only while private targets are admitted; https even then', () => {
    const open: EgressPolicy = { allowPrivateTargets: true, ownBaseUrls: ['http://127.0.0.1:8080'] };
    expect(problemOf('https://127.0.0.1:39211/hook', open)).toBe('ok');
    expect(problemOf('https://localhost:39211/hook', open)).toBe('ok');
    expect(problemOf('https://127.0.0.1:8080/hook', open)).toBe('own_host');
    expect(problemOf('http://127.0.0.1:39211/hook', open)).toBe('scheme');
    expect(problemOf('http://127.0.0.1:39211/file', { ...open, allowHttp: true })).toBe('ok');
    for (const never of [
      'https://169.254.169.254/',
      'https://0.0.0.0/',
      'https://[::]/',
      'https://224.0.0.1/',
      'https://[fd00:ec2::254]/',
    ]) {
      expect(problemOf(never, open)).toBe('address_not_allowed');
    }
    expect(problemOf('https://127.0.0.1:0/', open)).toBe('port');
  });
});

describe('a name is judged by what it resolves to', () => {
  const url = new URL('https://hooks.example.com/');
  const answers = async (...found: string[]) => {
    const result = await resolveTarget(url, strict, async () => found);
    return result.ok ? result.addresses : result.problem;
  };

  it('every address must be public', async () => {
    expect(await answers('93.184.216.34', '2606:4700::1')).toEqual(['93.184.216.34', '2606:4700::1']);
    expect(await answers('127.0.0.1')).toBe('address_not_allowed');
    expect(await answers('93.184.216.34', '10.0.0.1')).toBe('address_not_allowed');
    expect(await answers('93.184.216.34', '::1')).toBe('address_not_allowed');
    expect(await answers('93.184.216.34', '::ffff:10.0.0.1')).toBe('address_not_allowed');
  });

  it('no answer and a failing name server are the same class', async () => {
    expect(await answers()).toBe('name_not_resolved');
    const failing = await resolveTarget(url, strict, () => Promise.reject(new Error('SERVFAIL')));
    expect(failing).toEqual({ ok: false, problem: 'name_not_resolved' });
  });
});
