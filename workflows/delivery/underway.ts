import type { SentAttempt } from './attempt.ts';

/** What a round has sent: attempts that have no answer yet, and the results that are not recorded yet. */
export class Underway {
  readonly #onEnd: () => void;
  readonly #results: SentAttempt[] = [];
  #running = 0;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  get running(): number {
    return this.#running;
  }

  get hasResults(): boolean {
    return this.#results.length > 0;
  }

  /** @param sending never rejects: whatever a receiver does is a result */
  add(sending: Promise<SentAttempt>): void {
    this.#running += 1;
    void sending.then((result) => {
      this.#running -= 1;
      this.#results.push(result);
      this.#onEnd();
    });
  }

  /** Hands the results to `record`, and keeps them if it fails. */
  async record(record: (results: readonly SentAttempt[]) => Promise<unknown>): Promise<readonly SentAttempt[]> {
    const results = this.#results.splice(0);
    if (results.length === 0) return results;
    try {
      await record(results);
    } catch (error) {
      this.#results.unshift(...results);
      throw error;
    }
    return results;
  }
}
