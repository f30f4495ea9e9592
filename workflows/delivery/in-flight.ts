import type { SentAttempt } from './attempt.ts';
import type { Outcome } from './health.ts';

/** An attempt that has ended but does not count for the endpoint's health yet. */
export interface Ended extends Omit<Outcome, 'at'> {
  url: string;
  /** Time by performance.now(), so the age of the attempt stays right when the clock is set. */
  endedAtMs: number;
}

/** The attempts of a round that have no answer yet, and the results that are not recorded yet. */
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

  /** @param sending must not reject, because a failed attempt is a result too */
  add(sending: Promise<SentAttempt>): void {
    this.#running += 1;
    void sending.then((result) => {
      this.#running -= 1;
      this.#results.push(result);
      this.#onEnd();
    });
  }

  /** Passes the results to `record`. If `record` fails, the results are kept for the next call. */
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

/** Lets a loop wait until other code of the same process calls notify(). A call before the wait counts too. */
export class Notifier {
  #notified = false;
  #wake: (() => void) | null = null;

  notify(): void {
    this.#notified = true;
    this.#wake?.();
  }

  /** Forgets earlier notifications. Call this before you read what they announce, so that later notifications count. */
  reset(): void {
    this.#notified = false;
  }

  /** Waits for a notification since the last reset, for at most `ms` milliseconds. Returns false if there was none. */
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
