import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { repositoryRoot } from '../../../../deploy/local/config.ts';
import { openArchive } from '../../../../pipelines/archive/open.ts';
import { writeOutputFile } from '../../../../pipelines/replay/output-file.ts';
import { padronReducido } from '../../../../schemas/registers.ts';
import { inventedRuc } from '../../../support/engines/stream.ts';
import { type CliStage, insertEdition, insertPublication, makeCliStage } from '../../../support/process/cli-stage.ts';
import { runPadron, startPadron } from '../../../support/process/command.ts';
import { changesBetween, type State, writeChanges } from '../../../support/registers/change-files.ts';

// `padron replay --out` as a process: what becomes of files, links, devices and other runs.
const register = 'padron_reducido';
const companies = 20_000;
const words = ['replay', '--register', register, '--from', '1', '--to', '1'];
const ndjson = [...words, '--into', 'ndjson'];
const parquet = [...words, '--into', 'parquet'];

let stage: CliStage;
let whole: Buffer;
let folder: string;
let out: string;

beforeAll(async () => {
  stage = await makeCliStage(inject('endpoints'));
  const { ARCHIVE_URL, WORK_DIR } = stage.environment as { ARCHIVE_URL: string; WORK_DIR: string };
  mkdirSync(WORK_DIR, { recursive: true });
  const state: State = new Map();
  for (let number = 0; number < companies; number += 1) {
    state.set(inventedRuc(number), [`EMPRESA ${number} S.A.C.`, ...padronReducido.columns.slice(1).map(() => '-')]);
  }
  const file = writeChanges(WORK_DIR, register, 1, changesBetween(register, new Map(), state, 1));
  const archive = await openArchive(ARCHIVE_URL, WORK_DIR);
  await archive.put({ register, kind: 'changes', sha256: file.sha256 }, file.path);
  const publication = await insertPublication(stage.pool, { register, state: 'publicada', fecha_dato: '2026-11-21' });
  await insertEdition(stage.pool, { register, number: 1, publication, fechaDato: '2026-11-21' });
  await stage.pool.query('UPDATE edition SET change_file_sha256 = $1, changes = $2', [file.sha256, companies]);
  const first = join(stage.folder, 'whole.nd');
  expect((await runPadron([...ndjson, '--out', first], stage.environment)).code).toBe(0);
  whole = readFileSync(first);
  expect(whole.toString().split('\n')).toHaveLength(companies + 1);
});
afterAll(() => stage.close());
beforeEach(() => {
  folder = join(stage.folder, 'out');
  out = join(folder, 'changes.nd');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
});

const padron = (...more: string[]) => runPadron(more, stage.environment);
const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);
const names = () => readdirSync(folder).sort();
const isWhole = (file = out) => readFileSync(file).equals(whole);
const ended = (child: ChildProcess) => new Promise<number | null>((resolve) => child.once('close', resolve));

/** Sends a signal to an export that has begun to write over the text `old`, and returns its exit code. */
async function signalled(signal: NodeJS.Signals): Promise<number | null> {
  writeFileSync(out, 'old');
  const child = startPadron([...ndjson, '--out', out], stage.environment);
  const end = ended(child);
  await expect.poll(() => existsSync(`${out}.partial`), { interval: 1 }).toBe(true);
  child.kill(signal);
  return await end;
}

/** The same until the signal has come before the end of the export: this process may have stood still meanwhile. */
async function signalledInTime(signal: NodeJS.Signals): Promise<number | null> {
  for (;;) {
    const code = await signalled(signal);
    if (code !== 0) return code;
  }
}

/** Runs a script in the output's folder. `$padron` is the command. */
function runShell(script: string) {
  const command = `padron="$0 ${join(repositoryRoot, 'deploy/cli/padron.js')}"; ${script}`;
  return spawnSync('sh', ['-c', command, process.execPath], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', ...stage.environment },
    maxBuffer: 2 * whole.length,
  });
}

test('a new file is private from its first byte, whatever the umask; one that is replaced keeps its mode', async () => {
  const modes = new Set<string>();
  // A second time only if this process stood still during the whole export.
  while (modes.size === 0) {
    rmSync(out, { force: true });
    const child = startPadron([...ndjson, '--out', out], stage.environment);
    const watching = setInterval(() => existsSync(`${out}.partial`) && modes.add(modeOf(`${out}.partial`)), 5);
    expect(await ended(child)).toBe(0);
    clearInterval(watching);
  }
  expect([[...modes], modeOf(out), isWhole(), names()]).toEqual([['600'], '600', true, ['changes.nd']]);

  chmodSync(out, 0o640);
  expect(runShell(`umask 077; $padron ${ndjson.join(' ')} --out changes.nd`).status).toBe(0);
  expect([modeOf(out), isWhole()]).toEqual(['640', true]);
  expect(runShell(`umask 0; $padron ${parquet.join(' ')} --out new.parquet`).status).toBe(0);
  expect([modeOf(join(folder, 'new.parquet')), names()]).toEqual(['600', ['changes.nd', 'new.parquet']]);
});

test('a link is followed, and stays a link', async () => {
  symlinkSync('changes.nd', join(folder, 'link'));
  expect((await padron(...ndjson, '--out', join(folder, 'link'))).code).toBe(0);
  expect([readlinkSync(join(folder, 'link')), isWhole(), modeOf(out)]).toEqual(['changes.nd', true, '600']);
});

// A link as /dev/stdout is, but here: a command that replaces it must not do so for the whole machine.
test.runIf(process.platform === 'linux')('a link to standard output is standard output, and so is "-"', () => {
  symlinkSync('/proc/self/fd/1', join(folder, 'stdout'));
  for (const name of ['-', './stdout']) {
    const piped = runShell(`$padron ${ndjson.join(' ')} --out ${name} | cat`);
    expect([piped.stdout.equals(whole), names()]).toEqual([true, ['stdout']]);
  }
  expect(runShell(`$padron ${ndjson.join(' ')} --out ./stdout > changes.nd`).status).toBe(0);
  expect([isWhole(), names()]).toEqual([true, ['changes.nd', 'stdout']]);
  expect(lstatSync(join(folder, 'stdout')).isSymbolicLink()).toBe(true);
  const table = runShell(`$padron ${parquet.join(' ')} --out - | cat`).stdout;
  expect([String(table.subarray(0, 4)), String(table.subarray(-4))]).toEqual(['PAR1', 'PAR1']);
  const withDocument = runShell(`$padron ${ndjson.join(' ')} --out ./stdout --json | cat; exit 3`);
  expect([withDocument.status, String(withDocument.stdout)]).toEqual([3, '']);
  expect(String(withDocument.stderr)).toMatch(/Standard output is for the changes themselves/);
});

test('a device, a pipe, a folder and an empty name are refused before anything is read', async () => {
  spawnSync('mkfifo', [join(folder, 'fifo')]);
  const before = names();
  for (const name of ['/dev/zero', folder, join(folder, 'fifo'), `${folder}/new/`])
    await stage.expectRefused([...ndjson, '--out', name], /is no file\.\nGive the name of a file after/);
  await stage.expectRefused([...ndjson, '--out', '  '], /--out is empty/);
  await stage.expectRefused([...ndjson, '--out', join(folder, 'missing', 'file')], /^error: ENOENT[^\n]*missing/);
  expect(names()).toEqual(before);
});

test.runIf(process.platform === 'linux')('a full disk behind standard output ends the export with 1', () => {
  const { status, stderr } = runShell(`$padron ${ndjson.join(' ')} --out - > /dev/full`);
  expect([status, String(stderr)]).toEqual([1, expect.stringMatching(/error: .*ENOSPC/)]);
});

test('a standard error that is closed or full stops no export', async () => {
  const file = openSync(out, 'w');
  const child = spawn(process.execPath, ['deploy/cli/padron.js', ...ndjson], {
    cwd: repositoryRoot,
    env: { PATH: process.env.PATH ?? '', ...stage.environment },
    stdio: ['ignore', file, 'pipe'],
  });
  // Nobody reads it any more, as after `2>&1 >all.nd | head -1` or a connection that was cut.
  child.stderr!.destroy();
  expect(await ended(child)).toBe(0);
  closeSync(file);
  expect(isWhole()).toBe(true);
  rmSync(out);
  const status = runShell(
    `exec 3>&1; { $padron ${ndjson.join(' ')} --out changes.nd 2>&1 >&3; echo $? > code; } | head -1`,
  );
  expect([status.status, readFileSync(join(folder, 'code'), 'utf8'), isWhole()]).toEqual([0, '0\n', true]);
  if (!existsSync('/dev/full')) return;
  expect(runShell(`$padron ${ndjson.join(' ')} --out changes.nd 2> /dev/full`).status).toBe(0);
  expect(isWhole()).toBe(true);
});

test('two runs at one file: the later one is refused and spoils nothing', async () => {
  let end: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  const first = writeOutputFile(
    out,
    async (to) => {
      to.write('the first run');
      await held;
    },
    () => {},
  );
  const second = await padron(...ndjson, '--out', out);
  expect([second.code, second.stdout]).toEqual([1, '']);
  expect(second.stderr).toMatch(
    /waiting up to 10 s[\s\S]*\nerror: another run writes .*partial\.\nWait until it has ended/,
  );
  end();
  await first;
  expect([readFileSync(out, 'utf8'), names()]).toEqual(['the first run', ['changes.nd']]);

  const both = await Promise.all([padron(...ndjson, '--out', out), padron(...ndjson, '--out', out)]);
  const done = both.filter(({ code }) => code === 0);
  expect(done.length).toBeGreaterThan(0);
  for (const { code, stderr } of both) if (code !== 0) expect(stderr).toContain('another run writes');
  expect([isWhole(), names()]).toEqual([true, ['changes.nd']]);
});

test('what a killed run left is replaced after ten seconds; an interrupted one leaves nothing', async () => {
  expect(await signalledInTime('SIGINT')).toBe(130);
  expect([readFileSync(out, 'utf8'), names()]).toEqual(['old', ['changes.nd']]);

  expect(await signalledInTime('SIGKILL')).toBeNull();
  expect(names()).toEqual(['changes.nd', 'changes.nd.partial']);
  expect((await padron(...ndjson, '--out', out)).code).toBe(0);
  expect([isWhole(), names()]).toEqual([true, ['changes.nd']]);

  expect([await signalled('SIGHUP'), isWhole()]).toEqual([0, true]);
});
