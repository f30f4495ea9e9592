import type { Logger } from './log.ts';

/**
 * Runs `work` every `everyMs` (`first`: after that time, or now), never twice at once; a run that fails is logged under `name`
 * and the next one tries again. The signal aborts when the stop is asked for. Returns the stop, which waits for the run under
 * way.
 */
export function startRepeating(
  name: string,
  everyMs: number,
  log: Logger,
  work: (stop: AbortSignal) => Promise<unknown>,
  first: 'later' | 'at_once' = 'later',
): () => Promise<void> {
  const stop = new AbortController();
  let running: Promise<unknown> | null = null;
  const run = () => {
    running ??= work(stop.signal)
      .catch((error: unknown) =>
        log.error({ err: error, work: name }, 'repeated work failed; the next run tries again'),
      )
      .finally(() => {
        running = null;
      });
  };
  if (first === 'at_once') run();
  const timer = setInterval(run, everyMs);
  return async () => {
    clearInterval(timer);
    stop.abort();
    await running;
  };
}
