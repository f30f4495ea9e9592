import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { parseConfiguration, registryBlock } from '../../../../pipelines/runtime/config.ts';
import { askEngine } from '../../../../pipelines/runtime/engines/check.ts';
import { connectRegistry, registryAccess, registryCheck } from '../../../../pipelines/stream/registry.ts';
import { makeCertificates, PemFolder, startHttpRelay, type TlsRelay } from '../../../support/engines/tls-relay.ts';

// The local registry behind a relay that speaks TLS and checks certificates and logins.
const basic = `Basic ${Buffer.from('padron:s3creto').toString('base64')}`;
const accepted = new Set([basic, 'Bearer token-s3creto']);
const pem = new PemFolder();
let certificates: Awaited<ReturnType<typeof makeCertificates>>;
let relay: TlsRelay;
let files: Record<'ca' | 'otherCa' | 'cert' | 'key', string>;

beforeAll(async () => {
  certificates = await makeCertificates();
  const { authority, otherAuthority, client, right } = certificates;
  files = {
    ca: pem.write('ca.pem', authority.caPem),
    otherCa: pem.write('other-ca.pem', otherAuthority.caPem),
    cert: pem.write('client.pem', client.certificatePem),
    key: pem.write('client.key', client.keyPem),
  };
  relay = await startHttpRelay(inject('endpoints').SCHEMA_REGISTRY_URL, {
    certificate: right,
    authorize: (authorization = '') => accepted.has(authorization),
  });
});
afterAll(async () => {
  await relay.stop();
  pem.remove();
});

const { pathname } = new URL(inject('endpoints').SCHEMA_REGISTRY_URL);
const access = (changes: Record<string, string> = {}) =>
  registryAccess(
    parseConfiguration(registryBlock, {
      SCHEMA_REGISTRY_URL: `https://127.0.0.1:${relay.port}${pathname}`,
      SCHEMA_REGISTRY_CA_FILE: files.ca,
      SCHEMA_REGISTRY_USERNAME: 'padron',
      SCHEMA_REGISTRY_PASSWORD: 's3creto',
      ...changes,
    }),
  );
const limitMs = 10_000;
const ask = (changes?: Record<string, string>) => askEngine(registryCheck(access(changes)), limitMs);
const noLogin = { SCHEMA_REGISTRY_USERNAME: '', SCHEMA_REGISTRY_PASSWORD: '' };

test('user and password, and a token, each open the registry over TLS', async () => {
  await ask();
  await ask({ ...noLogin, SCHEMA_REGISTRY_TOKEN: 'token-s3creto' });
  const schema = JSON.stringify({ type: 'record', name: 'Secured', fields: [] });
  const id = await connectRegistry(access()).register('secured-value', schema);
  const byToken = connectRegistry(access({ ...noLogin, SCHEMA_REGISTRY_TOKEN: 'token-s3creto' }));
  expect(await byToken.idOf('secured-value', schema)).toBe(id);
});

test.each([
  ['a wrong password', { SCHEMA_REGISTRY_PASSWORD: 'otra' }, 'it refuses the user, password or token (http_401)'],
  ['a wrong token', { ...noLogin, SCHEMA_REGISTRY_TOKEN: 'otro' }, 'it refuses the user, password or token (http_401)'],
  ['a missing CA', { SCHEMA_REGISTRY_CA_FILE: '' }, 'no trusted authority signed its certificate'],
])('%s is named with engine, address and reason, without the secret', async (_, changes, reason) => {
  const error = (await ask(changes).catch((caught: unknown) => caught)) as Error;
  expect(error).toMatchObject({ engine: 'schema registry', kind: 'refused' });
  expect(error.message).toContain(`schema registry at https://127.0.0.1:${relay.port}${pathname}: ${reason}`);
  expect(error.message).not.toMatch(/s3creto|otr[ao]/);
  // The client that processes use says the same, within its retries.
  const text = JSON.stringify({ type: 'record', name: 'Never', fields: [] });
  const used = await connectRegistry(access(changes))
    .idOf('secured-value', text)
    .catch((caught: Error) => caught);
  expect((used as Error).message).toBe(error.message);
});

test.each([
  ['an expired certificate', () => certificates.expired, 'its certificate has expired (CERT_HAS_EXPIRED)'],
  ['a certificate for another name', () => certificates.wrongName, 'its certificate is for other names'],
])('%s is refused, and the connection works again once it is replaced', async (_, certificate, reason) => {
  relay.present(certificate());
  await expect(ask()).rejects.toThrow(reason);
  relay.present(certificates.right);
  await ask();
});

test('a wrong CA is refused, and the same client uses the file that replaces it', async () => {
  const ca = pem.write('changing-ca.pem', certificates.otherAuthority.caPem);
  const client = access({ SCHEMA_REGISTRY_CA_FILE: ca });
  await expect(askEngine(registryCheck(client), limitMs)).rejects.toThrow(
    'no trusted authority signed its certificate',
  );
  const registry = connectRegistry(client);
  pem.write('changing-ca.pem', certificates.authority.caPem);
  const schema = JSON.stringify({ type: 'record', name: 'Rotated', fields: [] });
  expect(await registry.register('rotated-value', schema)).toBeGreaterThan(0);
});

test('a registry that demands a client certificate gets it, also the one that replaces it', async () => {
  const cert = pem.write('rotating.pem', certificates.otherClient.certificatePem);
  const key = pem.write('rotating.key', certificates.otherClient.keyPem);
  const client = access({ SCHEMA_REGISTRY_CERT_FILE: cert, SCHEMA_REGISTRY_KEY_FILE: key });
  relay.demandClients(certificates.authority, certificates.renewed);
  await expect(ask()).rejects.toThrow('it refuses our client certificate');
  await expect(askEngine(registryCheck(client), limitMs)).rejects.toThrow('refuse our client certificate');
  pem.write('rotating.pem', certificates.client.certificatePem);
  pem.write('rotating.key', certificates.client.keyPem);
  await askEngine(registryCheck(client), limitMs);
});

test('settings that do not go together are named before anything connects', () => {
  const wrong = {
    SCHEMA_REGISTRY_KEY_FILE: files.key,
    SCHEMA_REGISTRY_TOKEN: 'token-s3creto',
    SCHEMA_REGISTRY_CA_FILE: '/no/such/ca.pem',
  };
  expect(() => access(wrong)).toThrow('SCHEMA_REGISTRY_CERT_FILE: is needed beside SCHEMA_REGISTRY_KEY_FILE');
  expect(() => access(wrong)).toThrow('SCHEMA_REGISTRY_TOKEN: cannot be set together with SCHEMA_REGISTRY_USERNAME');
  expect(() => access(wrong)).toThrow('cannot read /no/such/ca.pem (ENOENT)');
  const crossed = { SCHEMA_REGISTRY_CERT_FILE: files.otherCa, SCHEMA_REGISTRY_KEY_FILE: files.key };
  expect(() => access(crossed)).toThrow(/SCHEMA_REGISTRY_…_FILE: .*mismatch/i);
});
