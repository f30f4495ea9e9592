import { failure } from './errors.ts';

/** A counted gate: first come, first served, with a bounded queue and a bounded wait. */
export class Slots {
  readonly #name: string;
  readonly #limit: number;
  readonly #queue: { maxWaiting: number; maxWaitMs: number };
  readonly #waiting: { enter: () => void; refuse: (error: Error) => void }[] = [];
  #taken = 0;

  constructor(name: string, limit: number, queue: { maxWaiting: number; maxWaitMs: number }) {
    this.#name = name;
    this.#limit = limit;
    this.#queue = queue;
  }

  get taken(): number {
    return this.#taken;
  }

  tryEnter(): boolean {
    if (this.#taken >= this.#limit) return false;
    this.#taken += 1;
    return true;
  }

  /** @throws QueryFailure 202 when too many wait or the wait is over; 735 when the caller has gone */
  async enter(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw gone();
    if (this.#waiting.length === 0 && this.tryEnter()) return;
    if (this.#waiting.length >= this.#queue.maxWaiting) throw this.#tooMany('wait already');
    const entry = { enter: () => {}, refuse: (_: Error) => {} };
    const entered = new Promise<void>((resolve, reject) => {
      entry.enter = resolve;
      entry.refuse = reject;
    });
    const timer = setTimeout(() => entry.refuse(this.#tooMany('ran all the time')), this.#queue.maxWaitMs);
    const onAbort = () => entry.refuse(gone());
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.push(entry);
    try {
      await entered;
    } catch (error) {
      const at = this.#waiting.indexOf(entry);
      // Not in the queue any more: the slot was handed over in the very moment of the refusal, and goes to the next.
      if (at < 0) this.leave();
      else this.#waiting.splice(at, 1);
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken -= 1;
    else next.enter();
  }

  #tooMany(why: string) {
    const text = `Too many simultaneous queries: ${this.#limit} ${this.#name} run and others ${why}`;
    return failure(202, 'TOO_MANY_SIMULTANEOUS_QUERIES', text);
  }
}

const gone = () => failure(735, 'QUERY_WAS_CANCELLED_BY_CLIENT', 'The client has closed the connection');
