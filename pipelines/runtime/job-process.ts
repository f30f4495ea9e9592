import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/**
 * A program of ours that runs in a process of its own. So the caller's event loop stays free, and the work's memory has
 * a limit. The program reads jobs as JSON lines from standard input. It writes progress and one answer per job as JSON
 * lines to standard output. It ends when its input is closed, which also happens when the caller dies.
 */
export interface JobProgram {
  url: URL;
  /** Limit of the JavaScript heap. Buffers are not part of it. */
  maxHeapMb: number;
  env: NodeJS.ProcessEnv;
  /** From 0 to 19: how far all other processes go first when the machine is busy. 0 if it is not set. */
  niceness?: number;
}

/** A line that the program writes. Every kind other than `progress` is the job's answer. */
export interface JobMessage {
  kind: string;
}

export interface JobEnd {
  /** Null when the program ended without an answer. */
  answer: JobMessage | null;
  /** The signal that ended the program, or its exit code. Empty when the program goes on running for more jobs. */
  end: string;
  errorText: string;
}

/**
 * Runs one job. When the signal aborts, kills the process, waits for its end, and then rejects with the signal's
 * reason. Otherwise two attempts at a job could run at once.
 */
export type RunJob = (job: unknown, report: (message: JobMessage) => void, signal: AbortSignal) => Promise<JobEnd>;

export function inOwnProcess(program: JobProgram): RunJob {
  return async (job, report, signal) => {
    signal.throwIfAborted();
    return await new Running(program).work(job, report, signal, false);
  };
}

/**
 * Keeps one process for many jobs, because starting a process costs more than a small job. The process starts with the
 * first job and ends after `idleMs` without a job. Jobs run one at a time, so the process needs memory for only one.
 */
export class KeptProcess {
  readonly #program: JobProgram;
  readonly #idleMs: number;
  #turn: Promise<unknown> = Promise.resolve();
  #running: Running | null = null;
  #idle: NodeJS.Timeout | undefined;

  constructor(program: JobProgram, idleMs: number) {
    this.#program = program;
    this.#idleMs = idleMs;
  }

  readonly run: RunJob = (job, report, signal) => {
    const done = this.#turn.then(() => this.#work(job, report, signal));
    this.#turn = done.catch(() => {});
    return done;
  };

  async #work(...[job, report, signal]: Parameters<RunJob>): Promise<JobEnd> {
    signal.throwIfAborted();
    clearTimeout(this.#idle);
    // Since its last job, the process may have died, or it was closed after `idleMs` without a job.
    if (this.#running === null || this.#running.isOver) this.#running = new Running(this.#program);
    const running = this.#running;
    try {
      return await running.work(job, report, signal, true);
    } finally {
      this.#idle = setTimeout(() => running.close(), this.#idleMs).unref();
    }
  }
}

const maxErrorCharacters = 4_000;
const root = fileURLToPath(new URL('../..', import.meta.url));

class Running {
  /** True once the process takes no more jobs. */
  isOver = false;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<string>;
  #errorText = '';
  #take: (message: JobMessage) => void = () => {};

  constructor({ url, maxHeapMb, env, niceness = 0 }: JobProgram) {
    const program = [`--max-old-space-size=${maxHeapMb}`, '--import', 'tsx', fileURLToPath(url)];
    const child = spawn(process.execPath, program, { cwd: root, env, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child = child;
    if (niceness > 0) yieldToOthers(child.pid, niceness);
    this.#ended = new Promise<string>((resolve, reject) => {
      child.once('error', reject);
      // Unlike 'exit', 'close' comes after all of the process's output has been read.
      child.once('close', (code, killedBy) => resolve(killedBy ?? `exit code ${code}`));
    }).finally(() => {
      this.isOver = true;
    });
    // Between two jobs nothing awaits this promise. Without this handler, its rejection would end our own process.
    this.#ended.catch(() => {});
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errorText = (this.#errorText + text).slice(-maxErrorCharacters);
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message = messageIn(line);
      if (message !== null) this.#take(message);
    });
    // A process that dies early breaks its input pipe. This error is ignored, because `#ended` reports the end.
    child.stdin.on('error', () => {});
  }

  async work(
    job: unknown,
    report: (message: JobMessage) => void,
    signal: AbortSignal,
    isKept: boolean,
  ): Promise<JobEnd> {
    const kill = () => this.#child.kill('SIGKILL');
    signal.addEventListener('abort', kill, { once: true });
    this.#hold(true);
    let answer: JobMessage | null = null;
    const answered = new Promise<string>((resolve) => {
      this.#take = (message) => {
        if (message.kind === 'progress') return report(message);
        answer = message;
        if (isKept) resolve('');
        else this.close();
      };
    });
    this.#child.stdin.write(`${JSON.stringify(job)}\n`);
    try {
      const end = await Promise.race([this.#ended, answered]);
      if (signal.aborted) await this.#ended;
      signal.throwIfAborted();
      return { answer, end, errorText: this.#errorText };
    } finally {
      signal.removeEventListener('abort', kill);
      this.#take = () => {};
      this.#hold(false);
    }
  }

  /** Lets the process finish its job and end. */
  close(): void {
    this.isOver = true;
    this.#child.stdin.end();
  }

  #hold(isWorking: boolean): void {
    const { stdin, stdout, stderr } = this.#child;
    const held = [this.#child, ...([stdin, stdout, stderr] as unknown as Socket[])];
    for (const one of held) isWorking ? one.ref() : one.unref();
  }
}

/** The process has no further thread yet, and each later one takes over the niceness of the thread that starts it. */
function yieldToOthers(pid: number | undefined, niceness: number): void {
  try {
    if (pid !== undefined) setPriority(pid, niceness);
  } catch {
    // The process has ended already, or the system knows no niceness. The job's result is the same.
  }
}

/** Returns the message in a line, or null for a line that a library wrote. */
function messageIn(line: string): JobMessage | null {
  try {
    const message = JSON.parse(line) as Partial<JobMessage> | null;
    return typeof message?.kind === 'string' ? (message as JobMessage) : null;
  } catch {
    return null;
  }
}
