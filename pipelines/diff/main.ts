import { createInterface } from 'node:readline';
import type { z } from 'zod';
import { CompareError } from '../changes/errors.ts';
import { engineOf } from './engine.ts';
import { jobSchema } from './types.ts';

// This process runs comparisons, corrections and rebuilds for its parent (pipelines/runtime/job-process.ts). The parent
// sends one job at a time and waits for the answer. When standard input closes, the process aborts its job and ends.

const say = (message: unknown) => process.stdout.write(`${JSON.stringify(message)}\n`);
const aborted = new AbortController();
const lines = createInterface({ input: process.stdin });

let used = 0;

lines.on('line', async (line) => {
  try {
    const result = await run(jobSchema.parse(JSON.parse(line)));
    say({ kind: 'result', result, usage: usageSinceLast() });
  } catch (error) {
    // The message of an unexpected error could quote a person's row. So the answer has only the places in the code from
    // the error's stack.
    const known = error instanceof CompareError;
    const message = known ? error.message : 'the comparison failed unexpectedly';
    const code = known ? error.code : (error as NodeJS.ErrnoException).code;
    say({ kind: 'error', code, message, stack: known ? undefined : placesOf(error) });
  }
});

lines.once('close', () => aborted.abort(new Error('the parent is gone')));

async function run(job: z.output<typeof jobSchema>): Promise<unknown> {
  const report = (progress: unknown) => say({ kind: 'progress', progress });
  if (job.kind === 'keepLines') {
    return await (await import('./changed-lines.ts')).keepChangedLines(job.input, report, aborted.signal);
  }
  const engine = engineOf(job.input.register);
  switch (job.kind) {
    case 'compare':
      return engine.compare(job.input, report, aborted.signal);
    case 'correct':
      return engine.correct(job.input, report, aborted.signal);
    case 'rebuild':
      return engine.rebuild(job.input, report, aborted.signal);
  }
}

function usageSinceLast() {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const before = used;
  used = (userCPUTime + systemCPUTime) / 1e6;
  return { cpuSeconds: used - before, peakRssBytes: maxRSS * 1024 };
}

function placesOf(error: unknown): string {
  const stack = error instanceof Error ? `${error.name}${error.stack ?? ''}` : '';
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}
