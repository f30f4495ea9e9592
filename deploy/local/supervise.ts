import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, type Log } from './fetch.ts';
import {
  descendantsOf,
  identify,
  identitySchema,
  isAlive,
  type ProcessIdentity,
  readJsonFile,
  signalProcess,
  writeJsonFile,
} from './process.ts';

/** How to start one process and how to know that it is ready. */
export interface Launch {
  name: string;
  command: string;
  args: readonly string[];
  /** The whole environment of the process. It inherits nothing. */
  environment: Record<string, string>;
  workingDirectory: string;
  /** The signal that makes the process end in good order. */
  stopSignal: 'SIGTERM' | 'SIGINT';
  /** Options for `setpriv` (see `withParentDeath`), besides those that every process gets. */
  privileges?: readonly string[];
  /** Resolves to true when the process is ready. An error means "not yet". */
  isReady(): Promise<boolean>;
}

export interface SuperviseOptions {
  /** Folder of the pid files. If this process crashes, the next start ends the processes that these files name. */
  runDirectory: string;
  logDirectory: string;
  searchPath: string;
  readyTimeoutMs: number;
  stopTimeoutMs: number;
  onUnexpectedEnd(name: string, description: string): void;
}

const pollEveryMs = 50;
const maxLogBytes = 16 * 1024 * 1024;
const shownLogLines = 20;

export class SupervisedProcess {
  readonly name: string;
  readonly #launch: Launch;
  readonly #options: SuperviseOptions;
  readonly #child: ChildProcess;
  readonly #identity: ProcessIdentity | undefined;
  readonly #ended: Promise<string>;
  #outcome: string | undefined;
  #endIsWanted = false;

  constructor(launch: Launch, options: SuperviseOptions) {
    this.name = launch.name;
    this.#launch = launch;
    this.#options = options;
    const log = openLog(this.logFile);
    const { command, args } = withParentDeath(launch, options.searchPath);
    // The child has its own process group. So Ctrl-C in the terminal reaches only this process, which then stops its
    // children in order.
    this.#child = spawn(command, args, {
      cwd: launch.workingDirectory,
      env: launch.environment,
      stdio: ['ignore', log, log],
      detached: true,
    });
    closeSync(log);
    this.#ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message));
      this.#child.once('exit', (code, signal) => resolve(code === null ? `killed by ${signal}` : `exit code ${code}`));
    });
    this.#identity = this.#child.pid === undefined ? undefined : identify(this.#child.pid);
    if (this.#identity) writeJsonFile(this.#pidFile, this.#identity);
    this.#ended.then((outcome) => {
      this.#outcome = outcome;
      rmSync(this.#pidFile, { force: true });
      if (!this.#endIsWanted) options.onUnexpectedEnd(this.name, this.describeEnd(outcome));
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get logFile(): string {
    return path.join(this.#options.logDirectory, `${this.#launch.name}.log`);
  }

  get hasEnded(): boolean {
    return this.#outcome !== undefined;
  }

  /** Resolves when the process is ready. @throws Error with the last lines of its log if it ends or takes too long */
  async waitUntilReady(): Promise<void> {
    const deadline = Date.now() + this.#options.readyTimeoutMs;
    while (Date.now() < deadline) {
      if (this.#outcome !== undefined)
        throw new Error(this.#endIsWanted ? `${this.name}: stopped while it started` : this.describeEnd(this.#outcome));
      if (await this.#launch.isReady().catch(() => false)) return;
      await sleep(pollEveryMs);
    }
    throw new Error(this.describeEnd(`not ready after ${this.#options.readyTimeoutMs} ms`));
  }

  /** Sends the stop signal, and kills the process after the deadline. Resolves to false if it had to be killed. */
  async stop(): Promise<boolean> {
    if (this.hasEnded || !this.#identity) return true;
    this.#endIsWanted = true;
    const stopped = await endInOrder(this.#identity, this.#launch.stopSignal, this.#options.stopTimeoutMs);
    await this.#ended;
    return stopped;
  }

  /** Sends SIGKILL to the process and to everything it started, so none of them can tidy up. */
  async kill(): Promise<void> {
    this.#endIsWanted = true;
    if (!this.#identity) return;
    await killAll([this.#identity, ...descendantsOf(this.#identity.pid)]);
    await this.#ended;
  }

  describeEnd(outcome: string): string {
    return `${this.name}: ${outcome}; the end of ${this.logFile}:\n${lastLines(this.logFile)}`;
  }

  get #pidFile(): string {
    return pidFileOf(this.#options.runDirectory, this.#launch.name);
  }
}

function pidFileOf(runDirectory: string, name: string): string {
  return path.join(runDirectory, `${name}.pid`);
}

/**
 * Sends the signal and waits at most `timeoutMs` until the process ends. Then it kills what still runs of the process
 * and of everything that the process started.
 * @returns false when the process itself had to be killed
 */
async function endInOrder(identity: ProcessIdentity, signal: NodeJS.Signals, timeoutMs: number): Promise<boolean> {
  const all = [identity, ...descendantsOf(identity.pid)];
  signalProcess(identity, signal);
  for (const deadline = Date.now() + timeoutMs; isAlive(identity) && Date.now() < deadline; ) await sleep(20);
  const ended = !isAlive(identity);
  await killAll(ended ? all : [...all, ...descendantsOf(identity.pid)]);
  return ended;
}

/** Kills all and waits until all have ended. */
async function killAll(processes: readonly ProcessIdentity[]): Promise<void> {
  for (const one of processes) signalProcess(one, 'SIGKILL');
  while (processes.some(isAlive)) await sleep(20);
}

/** On Linux `setpriv` makes the kernel send the child its stop signal when this process dies, even by kill -9. */
function withParentDeath(launch: Launch, searchPath: string): { command: string; args: readonly string[] } {
  const setpriv = process.platform === 'linux' ? findProgram(searchPath, 'setpriv') : undefined;
  if (!setpriv) return launch;
  const signal = launch.stopSignal.replace('SIG', '');
  const options = ['--pdeathsig', signal, ...(launch.privileges ?? [])];
  return { command: setpriv, args: [...options, '--', launch.command, ...launch.args] };
}

function openLog(file: string): number {
  if (existsSync(file) && statSync(file).size > maxLogBytes) renameSync(file, `${file}.1`);
  return openSync(file, 'a', 0o600);
}

function lastLines(file: string): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-shownLogLines).join('\n');
  } catch {
    return '(no log)';
  }
}

const orderlyEndMs = 5000;

/**
 * Ends the processes that a crashed stack of this folder left behind. Their pid files name them. Start times are
 * compared too, because the system may have given a pid to another process. Call it only while holding the stack's
 * lock. Otherwise a pid file could belong to a running stack.
 */
export async function endLeftovers(runDirectory: string, log: Log): Promise<void> {
  const files = readdirSync(runDirectory).filter((name) => name.endsWith('.pid'));
  await Promise.all(files.map((file) => endLeftover(path.join(runDirectory, file), log)));
}

async function endLeftover(file: string, log: Log): Promise<void> {
  const left = readJsonFile(file, identitySchema);
  if (left && isAlive(left)) {
    log(`${path.basename(file, '.pid')}: process ${left.pid} is left from a stack that crashed, ending it`);
    await endInOrder(left, 'SIGTERM', orderlyEndMs);
  }
  rmSync(file, { force: true });
}
