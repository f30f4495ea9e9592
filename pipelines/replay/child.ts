import { inOwnProcess } from '../runtime/job-process.ts';
import {
  ReplayError,
  type ReplayErrorCode,
  type VerifyInput,
  type VerifyProgress,
  type VerifyReport,
} from './types.ts';

export type VerifyMessage =
  | { kind: 'progress'; progress: VerifyProgress }
  | { kind: 'result'; report: VerifyReport }
  | { kind: 'error'; code: string; message: string; retryable: boolean };

// The heap limit can be low, because the large buffers are not in the JavaScript heap. They hold blocks of change files
// and hashes of rows.
const runVerification = inOwnProcess({
  url: new URL('./main.ts', import.meta.url),
  maxHeapMb: 384,
  env: process.env,
});

/**
 * Runs `verify` in a child process. When the signal aborts, kills the child and waits for its end.
 * @throws ReplayError from the child, or `verify_crashed` when the child ended without an answer
 * @throws the signal's reason when the signal aborts
 */
export async function verifyInChild(
  input: VerifyInput,
  report: (progress: VerifyProgress) => void,
  signal: AbortSignal,
): Promise<VerifyReport> {
  const { answer, end, errorText } = await runVerification(
    input,
    (message) => report((message as Extract<VerifyMessage, { kind: 'progress' }>).progress),
    signal,
  );
  const last = answer as Exclude<VerifyMessage, { kind: 'progress' }> | null;
  if (last?.kind === 'result') return last.report;
  if (last?.kind === 'error')
    throw new ReplayError(last.code as ReplayErrorCode, last.message, { retryable: last.retryable });
  const why = /heap out of memory/.test(errorText) ? 'its heap was full' : end;
  throw new ReplayError('verify_crashed', `the verifying process ended without an answer: ${why}`, {
    retryable: true,
  });
}
