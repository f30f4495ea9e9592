import { setImmediate } from 'node:timers';
import type { Logger } from './log.ts';

interface Component {
  name: string;
  stop: () => Promise<void> | void;
}

/**
 * Stops a process's components in reverse order of their start, within a deadline. Signals, failures and bugs all end
 * the process here. Call `onStop` for each component as soon as the component runs. Otherwise a start that fails half
 * way would leave components running.
 */
export class Lifecycle {
  readonly #components: Component[] = [];
  readonly #log: Logger;
  readonly #deadlineMs: number;
  #stopping: Promise<void> | undefined;
  #isStopping = false;

  constructor(log: Logger, deadlineMs: number) {
    this.#log = log;
    this.#deadlineMs = deadlineMs;
  }

  /** True from the moment when the process is asked to stop, before any component stops. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  onStop(name: string, stop: Component['stop']): void {
    this.#components.push({ name, stop });
  }

  /** Stops all components in reverse order. If one fails to stop, this is logged and the others stop all the same. */
  stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopping ??= (async () => {
      for (const { name, stop } of this.#components.reverse()) {
        try {
          await stop();
        } catch (error) {
          this.#log.error({ err: error, component: name }, 'a component did not stop cleanly');
        }
      }
    })();
    return this.#stopping;
  }

  /** Runs `start`. A later SIGINT, SIGTERM or failure stops everything and ends the process. */
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

  /** Stops everything after a failure and exits with 1, so that the supervisor starts the process again. */
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
    void this.stop().finally(() => process.exit(exitCode));
  }
}

/**
 * Runs `work` every `everyMs`, never twice at once. A failed run is logged under `name`, and the next run tries again.
 * Returns a function that ends the repetition: it aborts the signal and waits for the current run.
 * @param first whether the first run starts at once or after `everyMs`
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

/**
 * Rejects after `ms`, with the code `no_answer`, if the promise has not settled. The work behind it is not stopped, so a
 * write may still happen. The API takes this error for a store that does not answer (`isUnavailable`). When a busy machine
 * has let this process wait, its answers are in the sockets already and are read before the time counts as over.
 */
export async function within<Result>(ms: number, promise: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    const late = Object.assign(new Error(`no answer within ${ms} ms`), { code: 'no_answer' });
    timer = setTimeout(() => setImmediate(reject, late), ms);
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
