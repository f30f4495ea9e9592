import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { repositoryRoot } from '../../../../deploy/local/config.ts';
import { ensureHead, pauseRegister } from '../../../../pipelines/editions/heads.ts';
import { migratePostgres } from '../../../../pipelines/runtime/migrate.ts';
import { makePool } from '../../../../pipelines/runtime/postgres.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/engines/isolation.ts';
import { padronDocument, runPadron, startPadron } from '../../../support/process/command.ts';

// The program as operators start it. Each start takes a second, so only what a process alone can show is tested here.
const emptyFolder = mkdtempSync(path.join(tmpdir(), 'padron-cli-'));
let database: FreshDatabase;

beforeAll(async () => {
  database = await freshDatabase(inject('endpoints'));
  await migratePostgres(database.DATABASE_URL);
});
afterAll(async () => {
  await database.drop();
  rmSync(emptyFolder, { recursive: true });
});

const environment = () => ({ PADRON_LOCAL_DIR: emptyFolder, DATABASE_URL: database.DATABASE_URL });

test('it prints one document and ends; what is wrong ends it with another code and no stack trace', async () => {
  expect(await padronDocument(['accounts', 'list'], environment())).toEqual([]);
  const unknown = await runPadron(['acounts', 'list'], environment());
  expect([unknown.code, unknown.stdout]).toEqual([1, '']);
  expect(unknown.stderr).toMatch(/unknown command 'acounts'[\s\S]*run it with --help to see what it takes/);
  const refused = await runPadron(['accounts', 'show', '999'], environment());
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toBe('error: There is no account 999.\nSee them with: npx padron accounts list\n');
});

test('--help lists every noun and says where the addresses come from', async () => {
  const { code, stdout } = await runPadron(['--help'], { PADRON_LOCAL_DIR: emptyFolder });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Usage: padron \[options\] \[command\]\n/);
  for (const noun of ['migrate', 'tokens', 'publications', 'verify', 'replay', 'calendar', 'rejects']) {
    expect(stdout).toMatch(new RegExp(`\n {2}${noun}[ |]`));
  }
  expect(stdout).toMatch(/Addresses come from the environment[\s\S]*\nExamples:\n {2}\$ npx padron accounts create/);
});

test("with a local stack it finds the addresses by itself, the demo's too; the environment wins over them", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'padron-cli-'));
  const file = path.join(folder, 'run', 'endpoints.json');
  const demo = path.join(folder, 'demo', 'run', 'endpoints.json');
  for (const one of [file, demo]) mkdirSync(path.dirname(one), { recursive: true });
  const running = JSON.stringify({ DATABASE_URL: database.DATABASE_URL, PADRON_API_URL: 'http://127.0.0.1:1' });
  writeFileSync(demo, running);
  expect((await runPadron(['tokens', 'list'], { PADRON_LOCAL_DIR: folder })).code).toBe(0);
  writeFileSync(demo, '{ half');
  writeFileSync(file, running);
  const found = await runPadron(['tokens', 'list', '--json'], { PADRON_LOCAL_DIR: folder });
  expect([found.code, JSON.parse(found.stdout)]).toEqual([0, expect.any(Array)]);
  const elsewhere = { PADRON_LOCAL_DIR: folder, DATABASE_URL: 'postgres://padron@127.0.0.1:1/padron' };
  expect((await runPadron(['tokens', 'list'], elsewhere)).code).toBe(1);
  writeFileSync(file, '{ half');
  const broken = await runPadron(['tokens', 'list'], { PADRON_LOCAL_DIR: folder });
  expect([broken.code, broken.stderr]).toEqual([1, expect.stringMatching(/not readable[\s\S]*npm start/)]);
  rmSync(folder, { recursive: true });
});

test('a reader that closes the pipe, as head does, is no error of the command', async () => {
  const child = startPadron(['calendar', 'list'], environment());
  child.stdout.destroy();
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect([code, stderr]).toEqual([141, '']);
});

test('--version prints version and build, without addresses', async () => {
  const { version } = JSON.parse(readFileSync(path.join(repositoryRoot, 'package.json'), 'utf8')) as {
    version: string;
  };
  for (const word of ['--version', '-V']) {
    const shown = await runPadron([word], { PADRON_LOCAL_DIR: emptyFolder, PADRON_BUILD_ID: 'image-7' });
    expect(shown).toEqual({ code: 0, stdout: `padron ${version} (build image-7)\n`, stderr: '' });
  }
});

test('a wrong value of an option or an argument is named with it', async () => {
  const limit = await runPadron(['tokens', 'list', '--limit', 'abc'], environment());
  expect([limit.code, limit.stderr]).toEqual([
    1,
    'error: --limit: "abc" is not a whole number from 1.\nGive the number in digits, for example 1.\n',
  ]);
  const id = await runPadron(['accounts', 'show', 'uno'], environment());
  expect([id.code, id.stderr]).toEqual([1, expect.stringMatching(/^error: <id>: "uno" is not a whole number/)]);
  const day = ['accounts', 'create', '--name', 'X', '--plan', 'free', '--contract', 'C', '--contract-from', 'hoy'];
  expect((await runPadron(day, environment())).stderr).toMatch(/^error: --contract-from: "hoy" is not a day/);
});

/** Runs the command in a shell. `$padron` is the command. */
function runShell(script: string) {
  const { status, stdout, stderr } = spawnSync(
    'sh',
    ['-c', `padron="$0 deploy/cli/padron.js"; ${script}`, process.execPath],
    {
      cwd: repositoryRoot,
      env: { PATH: process.env.PATH ?? '', ...environment() },
      encoding: 'utf8',
    },
  );
  return { status, stdout, stderr };
}

// The device fails every write as a full disk does. Only Linux has it.
test.runIf(process.platform === 'linux').each(['accounts list', 'accounts --help', '--version'])(
  'a full disk behind standard output is an error of `padron %s`',
  (words) => {
    const { status, stderr } = runShell(`$padron ${words} > /dev/full`);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^error: .*ENOSPC/);
  },
);

test.each([
  ['is full', '$padron publications list 2> /dev/full'],
  ['has lost its reader', 'exec 3>&1; { $padron publications list 2>&1 >&3 || echo "failed: $?" >&3; } | true'],
])('a standard error that %s changes nothing of a result', async (_how, script) => {
  // With a paused register the command writes a remark on standard error.
  const pool = makePool(database.DATABASE_URL, 'test', 1);
  await ensureHead(pool, 'padron_reducido');
  await pauseRegister(pool, 'padron_reducido', { by: 'test', reason: null });
  await pool.end();
  expect(runShell(script)).toMatchObject({ status: 0, stdout: 'No publications.\n' });
});
