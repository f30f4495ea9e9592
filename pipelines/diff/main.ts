import { createInterface } from 'node:readline';
import { z } from 'zod';
import { registerNames } from '../../schemas/registers.ts';
import { compareEdition } from './compare.ts';
import { CompareError } from './errors.ts';

/**
 * The comparing process: one job as a JSON line on standard input, then progress and one answer as JSON lines on
 * standard output. The parent keeps standard input open; when it closes (the parent died), so does this process.
 */
const jobSchema = z.object({
  register: z.enum(registerNames as ['padron_reducido']),
  publicationPath: z.string().min(1),
  workDir: z.string().min(1),
  base: z.object({ edition: z.number().int().positive(), changeFileSha256: z.string() }).nullable(),
  edition: z.number().int().positive(),
  detectedAt: z.number().int().positive(),
  outputDir: z.string().min(1),
  limits: z.record(z.string(), z.number().positive()).optional(),
});

const say = (message: unknown) => process.stdout.write(`${JSON.stringify(message)}\n`);
const aborted = new AbortController();
const lines = createInterface({ input: process.stdin });

lines.once('line', async (line) => {
  try {
    const job = jobSchema.parse(JSON.parse(line));
    const result = await compareEdition(job, (progress) => say({ kind: 'progress', progress }), aborted.signal);
    const usage = process.resourceUsage();
    const cpuSeconds = (usage.userCPUTime + usage.systemCPUTime) / 1e6;
    say({ kind: 'result', result, usage: { cpuSeconds, peakRssBytes: usage.maxRSS * 1024 } });
  } catch (error) {
    // A bug's message could quote anything; its text stays out of the answer and the stack's places are enough.
    const known = error instanceof CompareError;
    const message = known ? error.message : 'the comparison failed unexpectedly';
    const code = known ? error.code : (error as NodeJS.ErrnoException).code;
    say({ kind: 'error', code, message, stack: known ? undefined : placesOf(error) });
    process.exitCode = 1;
  }
  process.stdin.destroy();
});

lines.once('close', () => aborted.abort(new Error('the parent is gone')));

function placesOf(error: unknown): string {
  const stack = error instanceof Error ? `${error.name}${error.stack ?? ''}` : '';
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}
