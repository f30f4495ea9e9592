import { setImmediate } from 'node:timers/promises';
import { bucketCount } from './buckets.ts';
import type { Progress } from './types.ts';

const pauseEveryMs = 500;

/** Goes through the ranges of keys in order; lets a cancellation in and reports twice a second. */
export async function eachBucket(
  add: (bucket: number) => void | Promise<void>,
  lines: number,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<void> {
  let pausedAt = Date.now();
  for (let bucket = 0; bucket < bucketCount; bucket += 1) {
    const adding = add(bucket);
    if (adding !== undefined) await adding;
    if (Date.now() - pausedAt < pauseEveryMs) continue;
    await setImmediate();
    signal.throwIfAborted();
    pausedAt = Date.now();
    report({ phase: 'merge', done: bucket, total: bucketCount, lines });
  }
}
