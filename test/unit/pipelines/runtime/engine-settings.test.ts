import { expect, it } from 'vitest';
import { databaseAddress } from '../../../../pipelines/runtime/engines/database-url.ts';
import { settingProblems } from '../../../../pipelines/runtime/engines/settings.ts';

it.each([
  [{ TEMPORAL_TLS: false, TEMPORAL_API_KEY: 'k' }, ['TEMPORAL_TLS: must be 1 beside TEMPORAL_API_KEY']],
  [{ TEMPORAL_TLS: true, TEMPORAL_API_KEY: 'k' }, []],
  [{ TEMPORAL_TLS: false }, []],
  [{ SCHEMA_REGISTRY_USERNAME: 'u' }, ['SCHEMA_REGISTRY_PASSWORD: is needed beside SCHEMA_REGISTRY_USERNAME']],
  [{ CLICKHOUSE_URL: 'http://u:p@ch/x' }, []],
  [{ DATABASE_URL: 'postgres://u@db/x?sslmode=require' }, []],
  [
    { DATABASE_URL: 'postgres://u@db/x?sslmode=maybe' },
    [expect.stringContaining('DATABASE_URL: sslmode must be one of')],
  ],
])('the settings %j have the problems %j', (settings, problems) => {
  expect(settingProblems(settings)).toEqual(problems);
});

it('a file that holds no certificate is named by its settings, without its text', () => {
  const [problem] = settingProblems({ CLICKHOUSE_CA_FILE: new URL(import.meta.url).pathname });
  expect(problem).toMatch(/^CLICKHOUSE_…_FILE: /);
  expect(problem).not.toContain('settingProblems');
});

it.each([
  ['postgres://u@db/x', 'postgres://u@db/x', undefined],
  ['postgres://u@db/x?sslmode=disable', 'postgres://u@db/x', 'off'],
  [
    'postgres://u@db/x?sslmode=verify-full&sslrootcert=%2Fca.pem&application_name=a',
    'postgres://u@db/x?application_name=a',
    { files: { ca: '/ca.pem' }, verifies: true },
  ],
  ['postgres://u@db/x?sslmode=no-verify', 'postgres://u@db/x', { files: {}, verifies: false }],
  ['postgres://u@db/x?sslcert=c&sslkey=k', 'postgres://u@db/x', { files: { cert: 'c', key: 'k' }, verifies: true }],
])('the address %s says about TLS what PostgreSQL’s own programs read', (address, url, tls) => {
  const found = databaseAddress(address);
  expect(found.url).toBe(url);
  expect(found.tls).toEqual(tls);
});
