import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { CompareError, isCompareErrorCode } from './errors.ts';
import type { CompareInput, CompareResult, Progress } from './types.ts';

export interface ChildOptions {
  /** Limit of the child's JavaScript heap. The index and buffers lie outside it: some 500 MB at 18 million rows. */
  maxHeapMb: number;
}

export interface ChildUsage {
  cpuSeconds: number;
  peakRssBytes: number;
}

type Message =
  | { kind: 'progress'; progress: Progress }
  | { kind: 'result'; result: CompareResult; usage: ChildUsage }
  | { kind: 'error'; code?: string; message: string; stack?: string };

/**
 * The index is read all over: with pages of 4 KB a third of that time goes into finding pages. glibc asks the kernel for
 * large ones when told so; elsewhere the variable does nothing. The rest of the environment is handed on unread.
 */
const hugePages = { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' };
const maxErrorBytes = 4_000;
const defaults: ChildOptions = { maxHeapMb: 256 };

/**
 * `compareEdition` in a process of its own, so that the caller's event loop and memory stay free. On abort the child is
 * killed and its end awaited before the promise rejects with the signal's reason: no two attempts ever run at once.
 */
export async function compareInChild(
  input: CompareInput,
  report: (progress: Progress) => void,
  signal: AbortSignal,
  options: ChildOptions = defaults,
): Promise<CompareResult & { usage: ChildUsage }> {
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
  let answer: Message | null = null;
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-maxErrorBytes);
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as Message;
    if (message.kind === 'progress') report(message.progress);
    else answer = message;
  });
  // A child that dies early closes its input; its end is told below, not by this pipe.
  child.stdin.on('error', () => {});
  child.stdin.write(`${JSON.stringify(input)}\n`);
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

function answerOf(answer: Message | null, end: string, complaint: string): CompareResult & { usage: ChildUsage } {
  if (answer?.kind === 'result') return { ...answer.result, usage: answer.usage };
  if (answer?.kind === 'error') {
    if (isCompareErrorCode(answer.code)) throw new CompareError(answer.code, answer.message);
    const code = answer.code === undefined ? '' : ` (${answer.code})`;
    throw new CompareError('compare_crashed', `${answer.message}${code}\n${answer.stack ?? ''}`);
  }
  const reason = /heap out of memory/.test(complaint) ? 'its heap was full' : end;
  throw new CompareError('compare_crashed', `The comparing process ended without an answer: ${reason}.`);
}
