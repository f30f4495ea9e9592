import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readEndpoints, repositoryRoot } from '../../../../deploy/local/config.ts';

// `npm run local` and `npm run local:reset` as processes. Only PostgreSQL is started; the other engines are given as
// running elsewhere, because these tests are about the commands.

let localDirectory: string;
let endpointsFile: string;
const running: ChildProcess[] = [];

beforeEach(() => {
  localDirectory = mkdtempSync(path.join(tmpdir(), 'padron-commands-'));
  endpointsFile = path.join(localDirectory, 'run', 'endpoints.json');
});
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
  rmSync(localDirectory, { recursive: true, force: true });
});

interface Command {
  child: ChildProcess;
  output(): string;
  ended: Promise<number | null>;
}

function run(program: string, ...args: string[]): Command {
  const elsewhere = '127.0.0.1:9';
  const { DATABASE_URL: _ours, ...environment } = process.env;
  const child = spawn(process.execPath, ['--import', 'tsx', path.join('deploy', 'local', program), ...args], {
    cwd: repositoryRoot,
    env: {
      ...environment,
      PADRON_LOCAL_DIR: localDirectory,
      KAFKA_BROKERS: elsewhere,
      SCHEMA_REGISTRY_URL: `http://${elsewhere}`,
      CLICKHOUSE_URL: `http://${elsewhere}`,
      TEMPORAL_ADDRESS: elsewhere,
    },
  });
  running.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  return { child, output: () => output, ended: new Promise((resolve) => child.once('close', resolve)) };
}

async function untilReady(command: Command): Promise<void> {
  await Promise.race([command.ended, waitFor(() => command.output().includes('Ctrl-C stops'))]);
  expect(command.output()).toContain('Ctrl-C stops');
}

async function waitFor(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}

test('local shows and writes the addresses, stops at one Ctrl-C that arrives twice, and removes them', async () => {
  const local = run('main.ts');
  await untilReady(local);
  const endpoints = readEndpoints(endpointsFile);
  expect(endpoints?.DATABASE_URL).toMatch(/^postgres:\/\/padron:\w+@127\.0\.0\.1:\d+\/padron$/);
  expect(local.output()).toContain(endpoints?.DATABASE_URL);
  expect(statSync(endpointsFile).mode & 0o077).toBe(0); // it holds passwords

  const reset = run('reset.ts');
  expect(await reset.ended).toBe(1);
  expect(reset.output()).toContain(`runs in process ${local.child.pid}: stop it first`);
  expect(existsSync(path.join(localDirectory, 'data', 'postgres'))).toBe(true);

  local.child.kill('SIGINT'); // the terminal's signal
  local.child.kill('SIGINT'); // npm passes the same key press on
  expect(await local.ended).toBe(0);
  expect(existsSync(endpointsFile)).toBe(false);
  expect(readFileSync(path.join(localDirectory, 'data', 'logs', 'postgres.log'), 'utf8')).toContain(
    'database system is shut down',
  );

  expect(await run('reset.ts').ended).toBe(0);
  expect(existsSync(path.join(localDirectory, 'data'))).toBe(false);
});

test('a Ctrl-C during the start stops it as soon as the engines that are starting are up', async () => {
  const local = run('main.ts');
  await waitFor(() => existsSync(path.join(localDirectory, 'data', 'run', 'postgres.pid')));
  local.child.kill('SIGINT');
  expect(await local.ended).toBe(0);
  expect(local.output()).toContain('postgres: up');
  expect(local.output()).not.toContain('Ctrl-C stops');
  expect(existsSync(endpointsFile)).toBe(false);
});

test('an engine that dies is shown and stops the whole with exit code 1', async () => {
  const local = run('main.ts');
  await untilReady(local);
  const { pid } = JSON.parse(readFileSync(path.join(localDirectory, 'data', 'run', 'postgres.pid'), 'utf8'));
  process.kill(pid, 'SIGKILL');
  expect(await local.ended).toBe(1);
  expect(local.output()).toMatch(/postgres: killed by SIGKILL; the end of .*postgres\.log:/);
  expect(local.output()).toContain('postgres has ended: stopping the others');
  expect(existsSync(endpointsFile)).toBe(false);
});

test('the demo writes into no engine that the environment names', async () => {
  const demo = run(path.join('demo', 'main.ts'));
  expect(await demo.ended).toBe(1);
  expect(demo.output()).toMatch(/invented data: run it without KAFKA_BROKERS, SCHEMA_REGISTRY_URL, CLICKHOUSE_URL/);
  expect(existsSync(path.join(localDirectory, 'demo'))).toBe(false);
});

test.each([
  ['main.ts', 'npm run local:'],
  ['start.ts', 'npm start:'],
  ['reset.ts', 'npm run local:reset:'],
])('%s --help says what the command does and starts nothing', async (program, beginning) => {
  const help = run(program, '--help');
  expect(await help.ended).toBe(0);
  expect(help.output().startsWith(beginning)).toBe(true);
  expect(existsSync(path.join(localDirectory, 'data'))).toBe(false);
});
