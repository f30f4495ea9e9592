import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kafkaBlock, parseConfiguration } from '../../../../../pipelines/runtime/config.ts';
import { kafkaConnection, kafkaConnectionSchema } from '../../../../../pipelines/runtime/kafka/connection.ts';
import { makeAuthority } from '../../../../support/delivery/authority.ts';

const folder = mkdtempSync(join(tmpdir(), 'padron-kafka-'));
const files = {
  KAFKA_TLS_CA_FILE: join(folder, 'ca.pem'),
  KAFKA_TLS_CERT_FILE: join(folder, 'cert.pem'),
  KAFKA_TLS_KEY_FILE: join(folder, 'key.pem'),
};
const otherKey = join(folder, 'other-key.pem');
beforeAll(async () => {
  const authority = await makeAuthority('Kafka');
  const { certificatePem, keyPem } = await authority.issue({ names: ['client'] });
  writeFileSync(files.KAFKA_TLS_CA_FILE, authority.caPem);
  writeFileSync(files.KAFKA_TLS_CERT_FILE, certificatePem);
  writeFileSync(files.KAFKA_TLS_KEY_FILE, keyPem);
  writeFileSync(otherKey, (await authority.issue({ names: ['other'] })).keyPem);
});
afterAll(() => rmSync(folder, { recursive: true }));

const needed = { KAFKA_BROKERS: 'b1:9092,b2:9092', SCHEMA_REGISTRY_URL: 'http://registry' };
const connectionOf = (settings: Record<string, string>) =>
  kafkaConnection(parseConfiguration(kafkaBlock, { ...needed, ...settings }));

const password = { KAFKA_SASL_USERNAME: 'padron', KAFKA_SASL_PASSWORD: 'secreta' };
const token = {
  KAFKA_SASL_MECHANISM: 'oauthbearer',
  KAFKA_OAUTH_TOKEN_URL: 'https://login.example/token',
  KAFKA_OAUTH_CLIENT_ID: 'padron',
  KAFKA_OAUTH_CLIENT_SECRET: 'secreta',
};

test('without further settings, connections are plain text and have no login', () => {
  expect(connectionOf({})).toEqual({ brokers: 'b1:9092,b2:9092' });
});

test('all settings reach the connection, and a job carries it to the producer as JSON', () => {
  const scram = { KAFKA_SASL_MECHANISM: 'scram-sha-512', ...password };
  const { KAFKA_TLS_CA_FILE: ca, KAFKA_TLS_CERT_FILE: cert, KAFKA_TLS_KEY_FILE: key } = files;
  expect(connectionOf({ KAFKA_TLS: '1', ...files, ...scram })).toEqual({
    brokers: 'b1:9092,b2:9092',
    tls: { ca, cert, key },
    login: { mechanism: 'scram-sha-512', username: 'padron', password: 'secreta' },
  });
  const byToken = connectionOf({ KAFKA_TLS: 'true', ...token, KAFKA_OAUTH_SCOPE: 'kafka' });
  expect(byToken.login).toEqual({
    mechanism: 'oauthbearer',
    tokenUrl: 'https://login.example/token',
    clientId: 'padron',
    clientSecret: 'secreta',
    scope: 'kafka',
  });
  expect(kafkaConnectionSchema.parse(JSON.parse(JSON.stringify(byToken)))).toEqual(byToken);
});

test.each<[string, Record<string, string>, RegExp]>([
  ['files of TLS without TLS', { KAFKA_TLS_CA_FILE: files.KAFKA_TLS_CA_FILE }, /KAFKA_TLS: must be 1/],
  [
    'a certificate without its key',
    { KAFKA_TLS: '1', KAFKA_TLS_CERT_FILE: files.KAFKA_TLS_CERT_FILE },
    /KAFKA_TLS_KEY_FILE: is needed beside KAFKA_TLS_CERT_FILE/,
  ],
  [
    'a file that is not there',
    { KAFKA_TLS: '1', KAFKA_TLS_CA_FILE: '/nowhere/ca.pem' },
    /KAFKA_TLS_…_FILE: cannot read \/nowhere\/ca.pem \(ENOENT\)/,
  ],
  [
    'a key of another certificate',
    { KAFKA_TLS: '1', ...files, KAFKA_TLS_KEY_FILE: otherKey },
    /KAFKA_TLS_…_FILE: .*key values mismatch/,
  ],
  ['a login without a mechanism', password, /KAFKA_SASL_MECHANISM: is needed beside KAFKA_SASL_USERNAME/],
  [
    'a mechanism without its login',
    { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'padron' },
    /KAFKA_SASL_PASSWORD: is needed beside KAFKA_SASL_MECHANISM=plain/,
  ],
  [
    'tokens without a token service',
    { KAFKA_SASL_MECHANISM: 'oauthbearer' },
    /KAFKA_OAUTH_TOKEN_URL: .*\n.*KAFKA_OAUTH_CLIENT_ID: .*\n.*KAFKA_OAUTH_CLIENT_SECRET: /,
  ],
  ['an unknown mechanism', { KAFKA_SASL_MECHANISM: 'gssapi' }, /KAFKA_SASL_MECHANISM/],
])('%s is refused with the setting to change and without secrets', (_, settings, message) => {
  expect(() => connectionOf(settings)).toThrow(message);
  expect(() => connectionOf(settings)).not.toThrow('secreta');
});

test('a file that is no PEM file is refused, because Node would trust nobody without an error', () => {
  const file = join(folder, 'empty.pem');
  writeFileSync(file, 'not a certificate');
  expect(() => connectionOf({ KAFKA_TLS: '1', KAFKA_TLS_CA_FILE: file })).toThrow(
    /KAFKA_TLS_…_FILE: .* is not a PEM file/,
  );
});
