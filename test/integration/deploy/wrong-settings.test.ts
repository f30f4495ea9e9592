import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { repositoryRoot } from '../../../deploy/local/config.ts';
import { apiSecrets, startApi } from '../../support/api/process.ts';
import { type FreshDatabase, migratedDatabase } from '../../support/engines/isolation.ts';
import { runCommand } from '../../support/process/command.ts';

// What each process and command does with a setting that its engine refuses.
const endpoints = inject('endpoints');
let database: FreshDatabase;
let folder: string;
let right: Record<string, string>;

beforeAll(async () => {
  database = await migratedDatabase(endpoints);
  folder = mkdtempSync(join(tmpdir(), 'padron-wrong-'));
  right = {
    ...endpoints,
    ...apiSecrets,
    DATABASE_URL: database.DATABASE_URL,
    ARCHIVE_URL: pathToFileURL(folder).href,
    WORK_DIR: folder,
    PADRON_LOCAL_DIR: folder,
  };
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

function wrongPassword(url: string): string {
  return Object.assign(new URL(url), { password: 'clave-secreta' }).href;
}

const refusedDatabase =
  /PostgreSQL at postgres:\/\/127\.0\.0\.1:\d+\/test_\w+: it refuses the user, password or token \(28P01\)/;

test.each(['pipelines/consumers/main.ts', 'workflows/main.ts'])('%s ends with the reason', async (program) => {
  const child = spawn(process.execPath, ['--import', 'tsx', program], {
    cwd: repositoryRoot,
    env: { PATH: process.env.PATH, ...right, DATABASE_URL: wrongPassword(right.DATABASE_URL!) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const output = await text(child.stdout);
  expect(await ended).toBe(1);
  const lines = output.split('\n').filter((line) => line.includes('stopping after a failure'));
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!).err.message).toMatch(refusedDatabase);
  expect(output).not.toContain('clave-secreta');
});

test('the api stays up and answers the calendar, its /readyz has the reason, and its log has it once', async () => {
  const api = await startApi({ ...right, CLICKHOUSE_URL: wrongPassword(right.CLICKHOUSE_URL!) });
  const readiness = async () => (await fetch(`${api.healthUrl}/readyz`)).json();
  const reason = /^ClickHouse at http:\/\/127\.0\.0\.1:\d+\/padron: it refuses the user, password or token \(516\)$/;
  await expect.poll(readiness).toMatchObject({ status: 'unavailable', reason: expect.stringMatching(reason) });
  const headers = { authorization: 'Bearer pad_sandbox_publico' };
  expect((await fetch(`${api.url}/id/v1/calendario/2026-07-27`, { headers })).status).toBe(200);
  await api.stop();
  expect(api.output().match(/it refuses the user/g)).toHaveLength(1);
  expect(api.output()).not.toContain('clave-secreta');
});

test('`padron engines` shows each engine with its version, and every one that refuses us', async () => {
  const { code, stdout } = await runCommand(['engines'], right);
  expect(code).toBe(0);
  for (const line of [/^PostgreSQL at .*: version 1\d\.\S+ .*\(at least 15\)$/m, /^ClickHouse at .*: version 2\d\./m])
    expect(stdout).toMatch(line);
  expect(stdout).toMatch(/^Kafka at 127\.0\.0\.1:\d+: answers$/m);
  expect(stdout).toMatch(/^schema registry at .*: answers$/m);
  expect(stdout).toMatch(/^Temporal at .*: version 1\.\d+\.\d+ \(at least 1\.29\)$/m);
  const wrong = { DATABASE_URL: wrongPassword(right.DATABASE_URL!), TEMPORAL_NAMESPACE: 'no-such-namespace' };
  const refused = await runCommand(['engines'], { ...right, ...wrong });
  expect(refused.code).toBe(1);
  expect(refused.stdout).toMatch(refusedDatabase);
  expect(refused.stdout).toMatch(/Temporal at .*: it has no such namespace \(grpc_5\)/);
  expect(refused.stdout).not.toContain('clave-secreta');
});

test('`padron migrate` changes nothing while an engine refuses us', async () => {
  const CLICKHOUSE_URL = wrongPassword(right.CLICKHOUSE_URL!);
  const { code, stderr } = await runCommand(['migrate'], { ...right, CLICKHOUSE_URL });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /error: ClickHouse at .*: it refuses the user, password or token \(516\)\nNothing was changed\./,
  );
});
