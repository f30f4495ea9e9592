import { CompareError, isCompareErrorCode } from '../changes/errors.ts';
import { inOwnProcess, type JobMessage, type JobProgram, type RunJob } from '../runtime/job-process.ts';
import type {
  CompareInput,
  CompareResult,
  CorrectInput,
  CorrectResult,
  Progress,
  RebuildInput,
  RebuildProgress,
  Rebuilt,
} from './types.ts';

/** CPU time since the end of the previous job, and peak memory over all jobs of the process. */
export interface ChildUsage {
  cpuSeconds: number;
  peakRssBytes: number;
}

type Answer<R> =
  | { kind: 'result'; result: R; usage: ChildUsage }
  | { kind: 'error'; code?: string; message: string; stack?: string };

/**
 * Look-ups read the index at random positions. With memory pages of 4 KB, they spend a third of their time on finding
 * pages. This variable makes glibc ask for large pages; other C libraries ignore it.
 */
const hugePages = { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' };

/**
 * The limit of the heap fits the rows of a small register, which a re-baseline holds twice. An index of 18 million rows
 * lies outside the heap.
 */
export const differenceProgram: JobProgram = {
  url: new URL('./main.ts', import.meta.url),
  maxHeapMb: 512,
  env: { ...hugePages, ...process.env },
};
const ownProcess = inOwnProcess(differenceProgram);

type Report<P> = (progress: P) => void;
type Used<R> = Promise<R & { usage: ChildUsage }>;

/** Runs a comparison in another process. @throws CompareError as the engine does, or `compare_crashed` */
export function compareInChild(
  input: CompareInput,
  report: Report<Progress>,
  signal: AbortSignal,
  run: RunJob = ownProcess,
): Used<CompareResult> {
  return inChild({ kind: 'compare', input }, report, signal, run);
}

/** Runs a correction in another process. @throws CompareError as `compareInChild` */
export function correctInChild(
  input: CorrectInput,
  report: Report<Progress>,
  signal: AbortSignal,
  run: RunJob = ownProcess,
): Used<CorrectResult> {
  return inChild({ kind: 'correct', input }, report, signal, run);
}

/** Rebuilds a register's working files in another process. @throws CompareError as `compareInChild` */
export function rebuildInChild(
  input: RebuildInput,
  report: Report<RebuildProgress>,
  signal: AbortSignal,
  run: RunJob = ownProcess,
): Used<Rebuilt> {
  return inChild({ kind: 'rebuild', input }, report, signal, run);
}

async function inChild<P, R>(
  job: { kind: 'compare' | 'correct' | 'rebuild'; input: unknown },
  report: Report<P>,
  signal: AbortSignal,
  run: RunJob,
): Used<R> {
  const onProgress = (message: JobMessage) => report((message as JobMessage & { progress: P }).progress);
  const { answer, end, errorText } = await run(job, onProgress, signal);
  return resultIn(answer as Answer<R> | null, end, errorText);
}

function resultIn<R>(answer: Answer<R> | null, end: string, errorText: string): R & { usage: ChildUsage } {
  if (answer?.kind === 'result') return { ...answer.result, usage: answer.usage };
  if (answer?.kind === 'error') {
    if (isCompareErrorCode(answer.code)) throw new CompareError(answer.code, answer.message);
    const code = answer.code === undefined ? '' : ` (${answer.code})`;
    throw new CompareError('compare_crashed', `${answer.message}${code}\n${answer.stack ?? ''}`);
  }
  const reason = /heap out of memory/.test(errorText) ? 'its heap was full' : end;
  throw new CompareError('compare_crashed', `The comparing process ended without an answer: ${reason}.`);
}
