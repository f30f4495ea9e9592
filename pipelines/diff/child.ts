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

/** Of the process since its last job: a kept one has what it used before as its peak too. */
export interface ChildUsage {
  cpuSeconds: number;
  peakRssBytes: number;
}

type Answer<R> =
  | { kind: 'result'; result: R; usage: ChildUsage }
  | { kind: 'error'; code?: string; message: string; stack?: string };

/**
 * The index is read all over: with pages of 4 KB a third of that time goes into finding pages. glibc asks the kernel for
 * large ones when told so; elsewhere the variable does nothing. The rest of the environment is handed on unread.
 */
const hugePages = { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' };

/** The heap holds the rows of a small register, twice in a re-baseline; an index of 18 million lies outside it, some 500 MB. */
export const differenceProgram: JobProgram = {
  url: new URL('./main.ts', import.meta.url),
  maxHeapMb: 512,
  env: { ...hugePages, ...process.env },
};
const ownProcess = inOwnProcess(differenceProgram);

type Report<P> = (progress: P) => void;
type Used<R> = Promise<R & { usage: ChildUsage }>;

/** A comparison by the register's engine outside this process. Errors: the engine's, and `compare_crashed`. */
export function compareInChild(
  input: CompareInput,
  report: Report<Progress>,
  signal: AbortSignal,
  run: RunJob = ownProcess,
): Used<CompareResult> {
  return inChild({ kind: 'compare', input }, report, signal, run);
}

/** The same for a correction. */
export function correctInChild(
  input: CorrectInput,
  report: Report<Progress>,
  signal: AbortSignal,
  run: RunJob = ownProcess,
): Used<CorrectResult> {
  return inChild({ kind: 'correct', input }, report, signal, run);
}

/** The same for a rebuild of the register's working files. */
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
  const told = (message: JobMessage) => report((message as JobMessage & { progress: P }).progress);
  const { answer, end, errorText } = await run(job, told, signal);
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
