import { createInterface } from 'node:readline';
import type { VerifyMessage } from './child.ts';
import { ReplayError, verifyInputSchema } from './types.ts';
import { verify } from './verify.ts';

/*
 * This program verifies one register; child.ts starts it. It reads one job as a JSON line from standard input. Then it
 * writes progress and one answer as JSON lines to standard output. The parent keeps standard input open until it has
 * the answer. When standard input closes earlier, the parent has died, and this process ends.
 */

const say = (message: VerifyMessage) => process.stdout.write(`${JSON.stringify(message)}\n`);
const aborted = new AbortController();
const lines = createInterface({ input: process.stdin });

lines.once('line', async (line) => {
  try {
    const input = verifyInputSchema.parse(JSON.parse(line));
    const report = await verify(input, (progress) => say({ kind: 'progress', progress }), aborted.signal);
    say({ kind: 'result', report });
  } catch (error) {
    say({ kind: 'error', ...answerFor(error) });
    process.exitCode = 1;
  }
  process.stdin.destroy();
});

lines.once('close', () => aborted.abort(new Error('the parent is gone')));

/**
 * Returns what the parent may know of an error. A ReplayError is sent whole. The message of any other error may quote a
 * row. So only the error's code, class and stack lines are sent.
 */
function answerFor(error: unknown): { code: string; message: string; retryable: boolean } {
  if (error instanceof ReplayError) return { code: error.code, message: error.message, retryable: error.retryable };
  const { code, type, name, retryable } = error as Record<'code' | 'type' | 'name' | 'retryable', unknown>;
  const places = error instanceof Error ? (error.stack ?? '').split('\n').filter((one) => /^\s+at /.test(one)) : [];
  const kind = [code, type ?? name].filter(Boolean).join(' ');
  return {
    code: 'verify_crashed',
    message: `the verification failed: ${kind}\n${places.slice(0, 8).join('\n')}`,
    retryable: retryable !== false,
  };
}
