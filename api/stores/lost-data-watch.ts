import type { LostData } from '../../pipelines/replay/lost-data.ts';
import { startRepeating } from '../../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../../pipelines/runtime/log.ts';

/** Pause between two comparisons of ClickHouse with the catalogue. */
const everyMs = 60_000;

type Comparison = Pick<LostData, 'isShort' | 'problem'>;

/**
 * Compares ClickHouse with the catalogue every minute, and keeps the answer for /readyz. A comparison may count rows
 * for many seconds, longer than a probe of readiness waits. A loss and its end are logged once each.
 */
export class LostDataWatch {
  readonly #lostData: Comparison;
  readonly #log: Logger;
  #problem: string | null = null;
  #looked: Promise<void> | null = null;
  #failed = false;
  #running: Promise<void> | null = null;

  constructor(lostData: Comparison, log: Logger) {
    this.#lostData = lostData;
    this.#log = log;
  }

  /** Starts the comparisons. Returns a function that ends them. */
  start(): () => Promise<void> {
    return startRepeating('lost data', everyMs, this.#log, (stop) => this.#compare(stop));
  }

  /**
   * What ClickHouse lacks, by the last comparison. The first call, and the first after `forget`, asks for the tables'
   * numbers of rows, and waits for a comparison if there are too few or a loss is known. Nothing else delays a start.
   */
  async problem(): Promise<string | null> {
    this.#looked ??= this.#look();
    await this.#looked;
    return this.#problem;
  }

  async #look(): Promise<void> {
    // If this question fails, the next comparison logs why. A process that can look rows up stays ready.
    const isShort = await this.#lostData.isShort().catch(() => false);
    if (isShort || this.#problem !== null) await this.#compare();
  }

  /** ClickHouse did not answer, and may come back from an old copy: the next call of `problem` looks again. */
  forget(): void {
    this.#looked = null;
  }

  /** A store that does not answer leaves the last answer: readiness reports the store itself. */
  #compare(stop?: AbortSignal): Promise<void> {
    this.#running ??= this.#lostData
      .problem(stop)
      .then(
        (problem) => this.#note(problem),
        (error: unknown) => {
          if (stop?.aborted) return;
          if (!this.#failed) this.#log.warn({ err: error }, 'ClickHouse could not be compared with the catalogue');
          this.#failed = true;
        },
      )
      .finally(() => {
        this.#running = null;
      });
    return this.#running;
  }

  #note(problem: string | null): void {
    this.#failed = false;
    if (problem !== null && problem !== this.#problem) this.#log.error(problem);
    if (problem === null && this.#problem !== null) this.#log.info('ClickHouse has all served data again');
    this.#problem = problem;
  }
}
