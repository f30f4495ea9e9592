import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/**
 * Work in a process of its own, so that the caller's event loop stays free and its memory has a limit: a program of ours that
 * takes jobs as JSON lines on standard input and says progress and one answer to each as JSON lines on standard output. It
 * ends when its input is closed: by us, or because we died.
 */
export interface JobProgram {
  /** Of its main.ts. */
  url: URL;
  /** Limit of its JavaScript heap; buffers lie outside it. */
  maxHeapMb: number;
  env: NodeJS.ProcessEnv;
}

/** A line of the program. Whatever is no `progress` answers the job. */
export interface JobMessage {
  kind: string;
}

export interface JobEnd {
  /** null: it ended without one. */
  answer: JobMessage | null;
  /** The signal that ended it, or its exit code. */
  end: string;
  /** The last that it wrote to standard error. */
  complaint: string;
}

/**
 * Does one job. On abort the process is killed and its end awaited before the promise rejects with the signal's reason: no two
 * attempts at a job ever run at once.
 */
export type RunJob = (job: unknown, report: (message: JobMessage) => void, signal: AbortSignal) => Promise<JobEnd>;

/** A process for each job. */
export function inOwnProcess(program: JobProgram): RunJob {
  return async (job, report, signal) => {
    signal.throwIfAborted();
    return await new Running(program).work(job, report, signal, false);
  };
}

/**
 * One process for job after job, started with the first and ended once none has come for `idleMs`: to start one and to load its
 * code costs more than a small job itself. Jobs wait for each other, so memory is that of one.
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
    // It may have died since its last job.
    if (this.#running === null || this.#running.isOver) this.#running = new Running(this.#program);
    const running = this.#running;
    try {
      return await running.work(job, report, signal, true);
    } finally {
      this.#idle = setTimeout(() => running.close(), this.#idleMs).unref();
    }
  }
}

const maxComplaintCharacters = 4_000;
const root = fileURLToPath(new URL('../..', import.meta.url));

class Running {
  /** It takes no more jobs. */
  isOver = false;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<string>;
  #complaint = '';
  #take: (message: JobMessage) => void = () => {};

  constructor({ url, maxHeapMb, env }: JobProgram) {
    const program = [`--max-old-space-size=${maxHeapMb}`, '--import', 'tsx', fileURLToPath(url)];
    const child = spawn(process.execPath, program, { cwd: root, env, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child = child;
    this.#ended = new Promise<string>((resolve, reject) => {
      child.once('error', reject);
      // 'close' comes when the process has ended and all it wrote has been read.
      child.once('close', (code, killedBy) => resolve(killedBy ?? `exit code ${code}`));
    }).finally(() => {
      this.isOver = true;
    });
    // Between two jobs nobody waits for it.
    this.#ended.catch(() => {});
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#complaint = (this.#complaint + text).slice(-maxComplaintCharacters);
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message = messageIn(line);
      if (message !== null) this.#take(message);
    });
    // A process that dies early closes its input; its end is told by `ended`, not by this pipe.
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
      return { answer, end, complaint: this.#complaint };
    } finally {
      signal.removeEventListener('abort', kill);
      this.#take = () => {};
      this.#hold(false);
    }
  }

  /** It ends by itself once it has nothing to do. */
  close(): void {
    this.isOver = true;
    this.#child.stdin.end();
  }

  /** Whether this process has to stay for it. */
  #hold(isWorking: boolean): void {
    const { stdin, stdout, stderr } = this.#child;
    const held = [this.#child, ...([stdin, stdout, stderr] as unknown as Socket[])];
    for (const one of held) isWorking ? one.ref() : one.unref();
  }
}

/** Other lines are a library's own. */
function messageIn(line: string): JobMessage | null {
  try {
    const message = JSON.parse(line) as Partial<JobMessage> | null;
    return typeof message?.kind === 'string' ? (message as JobMessage) : null;
  } catch {
    return null;
  }
}
