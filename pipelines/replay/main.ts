import { createInterface } from 'node:readline';
import { z } from 'zod';
import { registerNames } from '../../schemas/registers.ts';
import type { VerifyMessage } from './child.ts';
import { ReplayError } from './types.ts';
import { verify } from './verify.ts';

/**
 * This program verifies one register; child.ts starts it. It reads one job as a JSON line from standard input. Then it
 * writes progress and one answer as JSON lines to standard output. The parent keeps standard input open until it has
 * the answer. When standard input closes earlier, the parent has died, and this process ends.
 */
const count = z.number().int().nonnegative();
const jobSchema = z.object({
  register: z.enum(registerNames),
  edition: count,
  clickhouseUrl: z.string(),
  tables: z.object({ state: z.string(), history: z.string(), names: z.string() }),
  changeFiles: z.array(
    z.object({ edition: count, path: z.string(), sha256: z.string(), changes: count, baseline: count }),
  ),
  lastFull: count,
  publication: z.object({ path: z.string(), overlayPath: z.string().nullable(), workDir: z.string() }).nullable(),
  publicationNote: z.string().nullable(),
  limits: z
    .object({ maxRangeRows: count, maxListed: count, maxFiles: count, maxOverlayRows: count })
    .partial()
    .optional(),
});

const say = (message: VerifyMessage) => process.stdout.write(`${JSON.stringify(message)}\n`);
const aborted = new AbortController();
const lines = createInterface({ input: process.stdin });

lines.once('line', async (line) => {
  try {
    const { limits, ...job } = jobSchema.parse(JSON.parse(line));
    const given = Object.fromEntries(Object.entries(limits ?? {}).filter(([, value]) => value !== undefined));
    const report = await verify(
      { ...job, limits: given },
      (progress) => say({ kind: 'progress', progress }),
      aborted.signal,
    );
    say({ kind: 'result', report });
  } catch (error) {
    say({ kind: 'error', ...answerFor(error) });
    process.exitCode = 1;
  }
  process.stdin.destroy();
});

lines.once('close', () => aborted.abort(new Error('the parent is gone')));

/** An engine's own message may quote a row, so the answer has only the error's code, its kind and its stack lines. */
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
