import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ReplayError, type ReplayErrorCode } from './errors.ts';
import type { VerifyInput, VerifyProgress, VerifyReport } from './types.ts';

export type VerifyMessage =
  | { kind: 'progress'; progress: VerifyProgress }
  | { kind: 'result'; report: VerifyReport }
  | { kind: 'error'; code: string; message: string; retryable: boolean };

const program = fileURLToPath(new URL('./main.ts', import.meta.url));
const repository = fileURLToPath(new URL('../..', import.meta.url));
/** Heap of the child; the buffers of blocks and ranges lie outside it. */
const maxHeapMb = 384;
const maxErrorBytes = 2_000;

/**
 * Compares the state and the history in ClickHouse with the archive's change files, and the state with its publication, in
 * a process of its own. Repairs nothing. On abort the child is killed and its end awaited.
 * @throws ReplayError of the child, `verify_crashed` when it ended without an answer; the signal's reason
 */
export async function verifyInChild(
  input: VerifyInput,
  report: (progress: VerifyProgress) => void,
  signal: AbortSignal,
): Promise<VerifyReport> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [`--max-old-space-size=${maxHeapMb}`, '--import', 'tsx', program], {
    cwd: repository,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  let answer: Exclude<VerifyMessage, { kind: 'progress' }> | undefined;
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-maxErrorBytes);
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as VerifyMessage;
    if (message.kind === 'progress') report(message.progress);
    else answer = message;
  });
  // A child that dies early closes its input; its end is told below, not by this pipe.
  child.stdin.on('error', () => {});
  child.stdin.write(`${JSON.stringify(input)}\n`);
  try {
    const end = await new Promise<string>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, killedBy) => resolve(killedBy ?? `exit code ${code}`));
    });
    signal.throwIfAborted();
    if (answer?.kind === 'result') return answer.report;
    if (answer?.kind === 'error') {
      throw new ReplayError(answer.code as ReplayErrorCode, answer.message, { retryable: answer.retryable });
    }
    const why = /heap out of memory/.test(complaint) ? 'its heap was full' : end;
    throw new ReplayError('verify_crashed', `the verifying process ended without an answer: ${why}`, {
      retryable: true,
    });
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
  }
}
