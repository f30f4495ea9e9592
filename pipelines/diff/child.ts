import { CompareError, isCompareErrorCode } from '../changes/errors.ts';
import { inOwnProcess, type JobMessage, type JobProgram, type RunJob } from '../runtime/job-process.ts';
import type { Jobs } from './types.ts';

/** CPU time since the end of the previous job, and peak memory over all jobs of the process. */
export interface ChildUsage {
  cpuSeconds: number;
  peakRssBytes: number;
}

type Answer<R> =
  | { kind: 'result'; result: R; usage: ChildUsage }
  | { kind: 'error'; code?: string; message: string; stack?: string };

/**
 * Makes glibc ask for large memory pages; other C libraries ignore it. Pieces of inflated text (2 MB) and the memory of
 * `Spill` (62 MB) then need fewer page faults. The kernel's memory does not come from glibc.
 */
const hugePages = { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' };

/**
 * The program that compares, corrects and rebuilds. A re-baseline needs heap for two copies of a small register's rows.
 * The index of a large register (18 million rows) lies outside the heap.
 */
export const differenceProgram: JobProgram = {
  url: new URL('./main.ts', import.meta.url),
  maxHeapMb: 512,
  env: { ...hugePages, ...process.env },
};

/**
 * Runs a job in another process.
 * @throws CompareError with the engine's code, or `compare_crashed` for any other failure
 */
export async function runInChild<Kind extends keyof Jobs>(
  kind: Kind,
  input: Jobs[Kind]['input'],
  report: (progress: Jobs[Kind]['progress']) => void,
  signal: AbortSignal,
  run: RunJob = inOwnProcess(differenceProgram),
): Promise<Jobs[Kind]['result'] & { usage: ChildUsage }> {
  const onProgress = (message: JobMessage) => report((message as JobMessage & Pick<Jobs[Kind], 'progress'>).progress);
  const { answer, end, errorText } = await run({ kind, input }, onProgress, signal);
  const last = answer as Answer<Jobs[Kind]['result']> | null;
  if (last?.kind === 'result') return { ...last.result, usage: last.usage };
  if (last?.kind === 'error') {
    if (isCompareErrorCode(last.code)) throw new CompareError(last.code, last.message);
    const code = last.code === undefined ? '' : ` (${last.code})`;
    throw new CompareError('compare_crashed', `${last.message}${code}\n${last.stack ?? ''}`);
  }
  const reason = /heap out of memory/.test(errorText) ? 'its heap was full' : end;
  throw new CompareError('compare_crashed', `The comparing process ended without an answer: ${reason}.`);
}
