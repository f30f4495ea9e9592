import type { Logger } from './log.ts';

interface Part {
  name: string;
  stop: () => Promise<void> | void;
}

/**
 * Ordered start and reverse stop under a deadline, one exit path for signals, failures and bugs. A part registers its
 * stop as soon as it stands, so a start that fails half way stops what had started.
 */
export class Lifecycle {
  readonly #parts: Part[] = [];
  readonly #log: Logger;
  readonly #deadlineMs: number;
  #stopping: Promise<void> | undefined;

  constructor(log: Logger, deadlineMs: number) {
    this.#log = log;
    this.#deadlineMs = deadlineMs;
  }

  onStop(name: string, stop: Part['stop']): void {
    this.#parts.push({ name, stop });
  }

  /** Stops all parts in reverse; a part that fails to stop is logged and does not keep the others. */
  stop(): Promise<void> {
    this.#stopping ??= (async () => {
      for (const part of this.#parts.reverse()) {
        try {
          await part.stop();
        } catch (error) {
          this.#log.error({ err: error, part: part.name }, 'a part did not stop cleanly');
        }
      }
    })();
    return this.#stopping;
  }

  /** Runs `start`, then waits for SIGINT, SIGTERM or a failure, stops, and ends the process. */
  async run(start: (lifecycle: Lifecycle) => Promise<void>): Promise<void> {
    process.once('SIGINT', () => this.#end(0, 'SIGINT'));
    process.once('SIGTERM', () => this.#end(0, 'SIGTERM'));
    process.once('uncaughtException', (error) => this.fail(error));
    process.once('unhandledRejection', (error) => this.fail(error));
    try {
      await start(this);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Something that cannot go on: stop what can be stopped and exit 1, so that the supervisor starts anew. */
  fail(error: unknown): void {
    this.#log.fatal({ err: error }, 'stopping after a failure');
    this.#end(1, 'failure');
  }

  #end(exitCode: number, reason: string): void {
    if (this.#stopping) return;
    this.#log.info({ reason }, 'stopping');
    setTimeout(() => {
      this.#log.error({ deadlineMs: this.#deadlineMs }, 'stop took too long');
      process.exit(exitCode || 1);
    }, this.#deadlineMs).unref();
    void this.stop().then(() => process.exit(exitCode));
  }
}

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
