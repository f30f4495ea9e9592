import type { SentAttempt } from './attempt.ts';

/** What a round has sent: attempts that have no answer yet, and the results that are not recorded yet. */
export class InFlightAttempts {
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

/** Whatever a round may wait for rings it: an attempt that ended, more work, the order to stop. Never misses a ring. */
export class Notifier {
  #notified = false;
  #wake: (() => void) | null = null;

  notify(): void {
    this.#notified = true;
    this.#wake?.();
  }

  /** Forgets what rang so far: called before looking at what a ring tells of, so that a later one is not lost. */
  reset(): void {
    this.#notified = false;
  }

  /** Until it rings, at once if it did since it was silenced; `ms` at most. False: the time is up and it did not ring. */
  async wait(ms: number): Promise<boolean> {
    if (this.#notified) return true;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
    return this.#notified;
  }
}
