import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Endpoints, endpointsSchema, readLocalConfig, repositoryRoot } from '../../../../deploy/local/config.ts';
import { engineNames } from '../../../../deploy/local/engines/context.ts';
import { type Stack, startStack } from '../../../../deploy/local/stack.ts';
import { marks, readAll, writeAll } from './marks.ts';

// These tests end and kill engines, so they run their own stacks, one after another in the same folder.

vi.setConfig({ testTimeout: 300_000 }); // a test starts all engines twice, and the machine may be busy

let directory: string;
let stack: Stack | undefined;
const children: ChildProcess[] = [];
const lines: string[] = [];

// The path of data and programs has a space and letters that are not English, as a person's folder may.
const { PADRON_PROGRAMS_DIR } = process.env;
beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'mi padrón ñ-'));
  const { programsDirectory } = readLocalConfig();
  mkdirSync(programsDirectory, { recursive: true });
  process.env.PADRON_PROGRAMS_DIR = path.join(directory, 'programs');
  symlinkSync(programsDirectory, process.env.PADRON_PROGRAMS_DIR);
});
afterAll(async () => {
  if (PADRON_PROGRAMS_DIR === undefined) delete process.env.PADRON_PROGRAMS_DIR;
  else process.env.PADRON_PROGRAMS_DIR = PADRON_PROGRAMS_DIR;
  for (const child of children) child.kill('SIGKILL');
  await stopRunning();
  rmSync(directory, { recursive: true, force: true });
});

async function stopRunning(): Promise<void> {
  await stack?.stop();
  stack = undefined;
}

async function ensureRunning(): Promise<Stack> {
  stack ??= await start();
  return stack;
}

const start = () => startStack({ directory, addresses: {}, log: (line) => lines.push(line) });

/**
 * Numbers of the processes whose command line names the stack's folder. Only Linux lists them; elsewhere none is found.
 */
function processesOfFolder(): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && commandLine(name).includes(directory))
    .map(Number);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // it ended since it was listed
  }
}

test('a second stack in the folder is refused', async () => {
  await ensureRunning();
  await expect(start()).rejects.toThrow(`a stack already runs in ${directory}`);
});

test.each(engineNames)('%s keeps what it acknowledged over kill -9 and comes back on the same port', async (engine) => {
  const running = await ensureRunning();
  const name = `before_kill_${engine}`;
  await marks[engine].write(running.endpoints, name);
  await running.kill(engine);
  await running.restart(engine);
  await marks[engine].read(running.endpoints, name);
  await marks[engine].write(running.endpoints, `${name}_after`);
});

test('a database starts though its pid file names a living process of somebody else', async () => {
  const running = await ensureRunning();
  await marks.postgres.write(running.endpoints, 'before_stranger');
  await running.kill('registry');
  await running.kill('postgres');
  const file = path.join(directory, 'postgres', 'postmaster.pid');
  const [, ...rest] = readFileSync(file, 'utf8').split('\n');
  writeFileSync(file, [String(process.pid), ...rest].join('\n'));
  await running.restart('postgres');
  await running.restart('registry');
  await marks.postgres.read(running.endpoints, 'before_stranger');
});

// A start of all engines takes long, so the next start of each of these tests is the stack that the following one ends.
test('an orderly stop leaves no process and the next start finds all data on the same ports', async () => {
  const { endpoints } = await ensureRunning();
  await writeAll(endpoints, 'before_stop');
  lines.length = 0;
  await stopRunning();
  expect(lines.filter((line) => line.includes('was killed'))).toEqual([]);
  expect(processesOfFolder()).toEqual([]);
  const next = await ensureInChild();
  expect(next.endpoints).toEqual(endpoints);
  await readAll(endpoints, 'before_stop');
});

test('kill -9 of the stack itself: the next start ends what is left, and all data is whole', async () => {
  const { child, endpoints } = await ensureInChild();
  await writeAll(endpoints, 'before_crash');
  const before = processesOfFolder();
  child.kill('SIGKILL');
  await ended(child);
  mkdirSync(path.join(directory, 'postgres.new')); // as after a crash in the middle of making a database
  const next = await ensureInChild();
  expect(next.endpoints).toEqual(endpoints);
  expect(processesOfFolder().filter((pid) => before.includes(pid))).toEqual([]);
  await readAll(endpoints, 'before_crash');
  await readAll(endpoints, 'before_stop');
});

test('loss of power: everything dies at once, and all data is whole', async () => {
  const { child, endpoints } = await ensureInChild();
  await writeAll(endpoints, 'before_power_loss');
  for (const pid of [child.pid!, ...processesOfFolder()]) killIfThere(pid);
  await ended(child);
  stack = await start();
  await readAll(stack.endpoints, 'before_power_loss');
  await stopRunning();
  expect(processesOfFolder()).toEqual([]);
});

test('a start that fails says why and leaves nothing running', async () => {
  await stopRunning();
  writeFileSync(path.join(directory, 'kafka', 'data', 'meta.properties'), 'nonsense');
  await expect(start()).rejects.toThrow(/the local stack did not start:\nkafka: exit code 1; .*kafka\.log/);
  expect(processesOfFolder()).toEqual([]);
});

test('an engine that dies while another one starts ends the start at once', async () => {
  const fresh = mkdtempSync(path.join(tmpdir(), 'padron-dying-'));
  const said: string[] = [];
  const options = { directory: fresh, engines: ['registry'] as const, addresses: {} };
  const starting = startStack({ ...options, log: (line) => said.push(line) });
  const refused = expect(starting).rejects.toThrow('registry: stopped while it started');
  const pidOf = (engine: string) =>
    JSON.parse(readFileSync(path.join(fresh, 'run', `${engine}.pid`), 'utf8')) as { pid: number };
  await vi.waitFor(() => pidOf('registry'), { timeout: 60_000, interval: 20 });
  process.kill(pidOf('postgres').pid, 'SIGKILL');
  await refused;
  expect(said.join('\n')).toContain('postgres: killed by SIGKILL');
  rmSync(fresh, { recursive: true, force: true });
});

test('a warm start needs neither Maven, Python nor a network', async () => {
  const { PATH } = process.env;
  const bare = mkdtempSync(path.join(tmpdir(), 'padron-path-'));
  const fresh = mkdtempSync(path.join(tmpdir(), 'padron-fresh-'));
  process.env.PATH = bare; // without setpriv, as on macOS, the engines get no signal when their parent dies
  try {
    const withoutTools = await startStack({ directory: fresh, engines: ['kafka', 'temporal'], addresses: {} });
    await marks.temporal.write(withoutTools.endpoints, 'offline');
    await withoutTools.stop();
  } finally {
    process.env.PATH = PATH;
    for (const folder of [bare, fresh]) rmSync(folder, { recursive: true, force: true });
  }
});

test('two stacks start side by side, in a folder open to all and in a closed one', async () => {
  const folders = [1, 2].map(() => mkdtempSync(path.join(tmpdir(), 'padron-pair-')));
  chmodSync(folders[0]!, 0o755); // under root PostgreSQL runs with another account, which cannot enter the other folder
  const pair = await Promise.all(
    folders.map((folder) => startStack({ directory: folder, engines: ['postgres'], addresses: {} })),
  );
  for (const one of pair) await marks.postgres.write(one.endpoints, 'mine');
  expect(pair[0]!.endpoints.DATABASE_URL).not.toBe(pair[1]!.endpoints.DATABASE_URL);
  for (const one of pair) await one.stop();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

test('an engine whose address is given is used and not started', async () => {
  const fresh = mkdtempSync(path.join(tmpdir(), 'padron-external-'));
  const KAFKA_BROKERS = '127.0.0.1:9';
  const external = await startStack({ directory: fresh, engines: ['kafka'], addresses: { KAFKA_BROKERS } });
  expect(external.endpoints.KAFKA_BROKERS).toBe(KAFKA_BROKERS);
  await expect(external.kill('kafka')).rejects.toThrow('kafka is not an engine of this stack');
  await external.stop();
  rmSync(fresh, { recursive: true, force: true });
});

interface StackInChild {
  child: ChildProcess;
  endpoints: Endpoints;
}
let inChild: StackInChild | undefined;

/** The stack in a process of its own, which is started unless it runs. */
async function ensureInChild(): Promise<StackInChild> {
  await stopRunning();
  if (inChild === undefined || hasEnded(inChild.child)) inChild = await startInChild();
  return inChild;
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

async function startInChild(): Promise<StackInChild> {
  const program = fileURLToPath(new URL('./stack-process.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', program, directory], {
    cwd: repositoryRoot,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, endpoints: endpointsSchema.parse(JSON.parse(line)) };
  }
  throw new Error('the stack in a process of its own did not start');
}

/** Waits for the end of a killed process, which keeps its lock until then. */
async function ended(child: ChildProcess): Promise<void> {
  if (!hasEnded(child)) await once(child, 'exit');
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // ESRCH: its parent was just killed, and it ended too
  }
}
