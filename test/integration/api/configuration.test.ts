import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../../../deploy/local/config.ts';
import { apiSecrets } from '../../support/api/process.ts';

const stores = {
  DATABASE_URL: 'postgres://padron@127.0.0.1:1/padron',
  CLICKHOUSE_URL: 'http://127.0.0.1:1/padron',
};

function check(environment: Record<string, string>) {
  return spawnSync(process.execPath, ['--import', 'tsx', 'api/main.ts', '--check-config'], {
    cwd: repositoryRoot,
    env: { PATH: process.env.PATH ?? '', ...environment },
    encoding: 'utf8',
  });
}

test('--check-config accepts a configuration without asking any store', () => {
  const { status, stdout, stderr } = check({ ...stores, ...apiSecrets });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'configuration ok\n', stderr: '' });
});

test('--check-config reports all errors at once, without any value', () => {
  const secret = 'short secret';
  const { status, stdout, stderr } = check({
    ...stores,
    CLICKHOUSE_URL: '',
    AUDIT_HMAC_KEY: secret,
    WEBHOOK_SECRET_KEYS: 'a:b',
    WEBHOOK_PORTS: '443;8443',
    REQUIRED_REGISTERS: 'otro',
    LOOKUP_IN_FLIGHT: '0',
  });
  expect([status, stdout]).toEqual([1, '']);
  for (const name of [
    'CLICKHOUSE_URL: is not set',
    'AUDIT_HMAC_KEY',
    'WEBHOOK_SECRET_KEYS',
    'WEBHOOK_PORTS',
    'REQUIRED_REGISTERS',
    'LOOKUP_IN_FLIGHT',
  ])
    expect(stderr).toContain(name);
  expect(stderr).not.toContain(secret);
});

test('an unreadable key ring is refused without showing its text', () => {
  const { status, stderr } = check({ ...stores, ...apiSecrets, WEBHOOK_SECRET_KEYS: 'first:notakey' });
  expect(status).toBe(1);
  expect(stderr).toContain('WEBHOOK_SECRET_KEYS');
  expect(stderr).not.toContain('notakey');
});

test('a drain as long as the deadline of the whole stop is refused', () => {
  const { status, stderr } = check({ ...stores, ...apiSecrets, STOP_DRAIN_MS: '20000', STOP_DEADLINE_MS: '20000' });
  expect(status).toBe(1);
  expect(stderr).toContain('STOP_DRAIN_MS must be less than STOP_DEADLINE_MS');
});
