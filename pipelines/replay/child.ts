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

/** The buffers of blocks and ranges lie outside the heap. */
const runVerification = inOwnProcess({
  url: new URL('./main.ts', import.meta.url),
  maxHeapMb: 384,
  env: process.env,
});

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
  const { answer, end, complaint } = await runVerification(
    input,
    (message) => report((message as Extract<VerifyMessage, { kind: 'progress' }>).progress),
    signal,
  );
  const told = answer as Exclude<VerifyMessage, { kind: 'progress' }> | null;
  if (told?.kind === 'result') return told.report;
  if (told?.kind === 'error')
    throw new ReplayError(told.code as ReplayErrorCode, told.message, { retryable: told.retryable });
  const why = /heap out of memory/.test(complaint) ? 'its heap was full' : end;
  throw new ReplayError('verify_crashed', `the verifying process ended without an answer: ${why}`, {
    retryable: true,
  });
}
