import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { CompareError, isCompareErrorCode } from './errors.ts';
import type {
  CompareInput,
  CompareResult,
  CorrectInput,
  CorrectResult,
  Progress,
  RebuildInput,
  RebuildProgress,
  Rebuilt,
} from './types.ts';

export interface ChildOptions {
  /** Limit of the child's JavaScript heap. Index and buffers lie outside it: some 500 MB at 18 million rows. */
  maxHeapMb: number;
}

export interface ChildUsage {
  cpuSeconds: number;
  peakRssBytes: number;
}

type Message<P, R> =
  | { kind: 'progress'; progress: P }
  | { kind: 'result'; result: R; usage: ChildUsage }
  | { kind: 'error'; code?: string; message: string; stack?: string };

/**
 * The index is read all over: with pages of 4 KB a third of that time goes into finding pages. glibc asks the kernel for
 * large ones when told so; elsewhere the variable does nothing. The rest of the environment is handed on unread.
 */
const hugePages = { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' };
const maxErrorBytes = 4_000;
const defaults: ChildOptions = { maxHeapMb: 256 };

type Report<P> = (progress: P) => void;
type Used<R> = Promise<R & { usage: ChildUsage }>;

/** A comparison by the register's engine in a process of its own. Errors: the engine's, and `compare_crashed`. */
export function compareInChild(
  input: CompareInput,
  report: Report<Progress>,
  signal: AbortSignal,
  options: ChildOptions = defaults,
): Used<CompareResult> {
  return inChild({ kind: 'compare', input }, report, signal, options);
}

/** The same for a correction. */
export function correctInChild(
  input: CorrectInput,
  report: Report<Progress>,
  signal: AbortSignal,
  options: ChildOptions = defaults,
): Used<CorrectResult> {
  return inChild({ kind: 'correct', input }, report, signal, options);
}

/** The same for a rebuild of the register's working files. */
export function rebuildInChild(
  input: RebuildInput,
  report: Report<RebuildProgress>,
  signal: AbortSignal,
  options: ChildOptions = defaults,
): Used<Rebuilt> {
  return inChild({ kind: 'rebuild', input }, report, signal, options);
}

/**
 * A job in a process of its own, so that the caller's event loop and memory stay free. On abort the child is killed and its
 * end awaited before the promise rejects with the signal's reason: no two attempts ever run at once.
 */
async function inChild<P, R>(
  job: { kind: 'compare' | 'correct' | 'rebuild'; input: unknown },
  report: Report<P>,
  signal: AbortSignal,
  options: ChildOptions,
): Used<R> {
  signal.throwIfAborted();
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const child = spawn(process.execPath, [`--max-old-space-size=${options.maxHeapMb}`, '--import', 'tsx', main], {
    cwd: root,
    env: { ...hugePages, ...process.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  let answer: Message<P, R> | null = null;
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-maxErrorBytes);
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as Message<P, R>;
    if (message.kind === 'progress') report(message.progress);
    else answer = message;
  });
  // A child that dies early closes its input; its end is told below, not by this pipe.
  child.stdin.on('error', () => {});
  child.stdin.write(`${JSON.stringify(job)}\n`);
  try {
    const end = await new Promise<string>((resolve, reject) => {
      child.once('error', reject);
      // 'close' comes when the process has ended and all it wrote has been read.
      child.once('close', (code, killedBy) => resolve(killedBy ?? `exit code ${code}`));
    });
    signal.throwIfAborted();
    return answerOf(answer, end, complaint);
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

function answerOf<P, R>(answer: Message<P, R> | null, end: string, complaint: string): R & { usage: ChildUsage } {
  if (answer?.kind === 'result') return { ...answer.result, usage: answer.usage };
  if (answer?.kind === 'error') {
    if (isCompareErrorCode(answer.code)) throw new CompareError(answer.code, answer.message);
    const code = answer.code === undefined ? '' : ` (${answer.code})`;
    throw new CompareError('compare_crashed', `${answer.message}${code}\n${answer.stack ?? ''}`);
  }
  const reason = /heap out of memory/.test(complaint) ? 'its heap was full' : end;
  throw new CompareError('compare_crashed', `The comparing process ended without an answer: ${reason}.`);
}
