import { createInterface } from 'node:readline';
import { z } from 'zod';
import { registerNames } from '../../schemas/registers.ts';
import { CompareError } from '../changes/errors.ts';
import { engineOf } from './engine.ts';

// This process runs comparisons, corrections and rebuilds for its parent (pipelines/runtime/job-process.ts). The parent
// sends one job at a time and waits for its answer. When standard input closes, the running job is aborted and the
// process ends.

const path = z.string().min(1);
const edition = z.number().int().positive();
const register = z.enum(registerNames);
const limits = z.record(z.string(), z.number().positive()).optional();
const base = z.object({ edition, changeFileSha256: z.string() });
const made = { register, workDir: path, edition, detectedAt: z.number().int().positive(), outputDir: path, limits };

const jobSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('compare'),
    input: z.object({
      ...made,
      publicationPath: path,
      base: base.nullable(),
      previous: z
        .object({ publicationPath: path, overlayPath: path.nullable(), knownColumns: z.array(z.string()) })
        .nullish(),
    }),
  }),
  z.object({
    kind: z.literal('correct'),
    input: z.object({ ...made, base, corrects: edition, correctedFile: path, overlayPath: path.nullable() }),
  }),
  z.object({
    kind: z.literal('rebuild'),
    input: z.object({
      register,
      workDir: path,
      changeFiles: z.array(z.object({ edition, path, sha256: z.string() })),
      maxAttemptAgeMs: z.number().nonnegative(),
    }),
  }),
]);
type Job = z.output<typeof jobSchema>;

const say = (message: unknown) => process.stdout.write(`${JSON.stringify(message)}\n`);
const aborted = new AbortController();
const lines = createInterface({ input: process.stdin });

let used = 0;

lines.on('line', async (line) => {
  try {
    const result = await run(jobSchema.parse(JSON.parse(line)));
    say({ kind: 'result', result, usage: usageSinceLast() });
  } catch (error) {
    // The message of an unexpected error could quote a person's row. So the answer has only the lines of its stack that
    // name places in the code.
    const known = error instanceof CompareError;
    const message = known ? error.message : 'the comparison failed unexpectedly';
    const code = known ? error.code : (error as NodeJS.ErrnoException).code;
    say({ kind: 'error', code, message, stack: known ? undefined : placesOf(error) });
  }
});

lines.once('close', () => aborted.abort(new Error('the parent is gone')));

function run(job: Job): Promise<unknown> {
  const engine = engineOf(job.input.register);
  const report = (progress: unknown) => say({ kind: 'progress', progress });
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
