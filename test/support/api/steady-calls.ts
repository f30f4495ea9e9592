import { Agent, request } from 'node:http';

export interface SteadyFigures {
  asked: number;
  /** What was wrong with each request that did not get its answer. */
  failures: string[];
  slowestMs: number;
}

/** A look-up and a text that its right answer contains. */
export interface SteadyCall {
  path: string;
  expected: string;
}

const connections = 8;

/**
 * Sends requests at a steady rate over at most eight keep-alive connections, and repeats none. A connection that the server
 * cuts while a request is on it is a failure, as it would be for a customer.
 */
export class SteadyCalls {
  readonly #url: string;
  readonly #token: string;
  readonly #next: () => SteadyCall;
  // First in, first out: every connection is used all the time.
  readonly #agent = new Agent({ keepAlive: true, maxSockets: connections, scheduling: 'fifo' });
  readonly #open = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  readonly #figures: SteadyFigures = { asked: 0, failures: [], slowestMs: 0 };

  constructor(url: string, token: string, perSecond: number, next: () => SteadyCall) {
    this.#url = url;
    this.#token = token;
    this.#next = next;
    this.#timer = setInterval(() => {
      // A busy machine may answer more slowly than asked. Calls that wait in this process would say nothing about that.
      if (this.#open.size >= connections) return;
      const call: Promise<void> = this.#call().finally(() => this.#open.delete(call));
      this.#open.add(call);
    }, 1_000 / perSecond);
  }

  /** Requests that have failed so far. */
  get failures(): readonly string[] {
    return this.#figures.failures;
  }

  get asked(): number {
    return this.#figures.asked;
  }

  /** Waits for the requests that are on their way. */
  async stop(): Promise<SteadyFigures> {
    clearInterval(this.#timer);
    await Promise.all(this.#open);
    this.#agent.destroy();
    return this.#figures;
  }

  async #call(): Promise<void> {
    const { path, expected } = this.#next();
    const sentAt = performance.now();
    this.#figures.asked += 1;
    try {
      const { status, body } = await this.#ask(path);
      if (status !== 200 || !body.includes(expected)) this.#figures.failures.push(`${path}: ${status} ${body}`);
    } catch (error) {
      this.#figures.failures.push(`${path}: ${error}`);
    }
    this.#figures.slowestMs = Math.max(this.#figures.slowestMs, performance.now() - sentAt);
  }

  #ask(path: string): Promise<{ status: number | undefined; body: string }> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${this.#token}` };
      const asked = request(`${this.#url}${path}`, { agent: this.#agent, headers }, (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (piece) => {
          body += piece;
        });
        response.on('end', () => resolve({ status: response.statusCode, body }));
        response.on('error', reject);
      });
      asked.once('error', reject).end();
    });
  }
}
