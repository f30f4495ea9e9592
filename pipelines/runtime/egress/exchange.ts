import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { type NetworkFailure, networkFailure } from './failure.ts';
import { isCompressed, readCapped } from './request.ts';

export interface ExchangeLimits {
  /** Limit of the whole exchange: connect, request, headers and body. */
  exchangeTimeoutMs: number;
  /** Limit of the answer's body, counted after decompression. */
  maxBodyBytes: number;
}

/** Why the body was not read whole. The status is valid all the same. */
type BodyProblem = 'cut' | 'timeout' | 'broken' | null;

export type ExchangeResult =
  | { answered: true; status: number; headers: IncomingHttpHeaders; body: Buffer; bodyProblem: BodyProblem }
  | { answered: false; failure: NetworkFailure };

/**
 * Sends a webhook's request and reads the answer. Never throws for anything that the receiver does. The status counts
 * once the headers have arrived. A body that is endless, slow, broken or too large is cut.
 */
export function exchange(
  dispatcher: Dispatcher,
  { url, headers, body }: { url: URL; headers: Record<string, string>; body: Buffer },
  limits: ExchangeLimits,
): Promise<ExchangeResult> {
  return new Promise((resolve) => {
    const request = { origin: url.origin, path: url.pathname + url.search, method: 'POST' as const, headers, body };
    dispatcher.dispatch(request, new AnswerReader(limits, resolve));
  });
}

/**
 * Reads one answer. It takes undici's events itself, because undici's `request` makes a stream and an abort signal for
 * each answer. That took 50 µs of the 480 µs of CPU time that the worker needs for a delivery.
 */
class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #maxBodyBytes: number;
  readonly #resolve: (result: ExchangeResult) => void;
  readonly #timer: NodeJS.Timeout;
  #isOver = false;
  #timedOut = false;
  #controller: Dispatcher.DispatchController | null = null;
  #head: { status: number; headers: IncomingHttpHeaders } | null = null;
  readonly #pieces: Buffer[] = [];
  #size = 0;
  /** The compressed bytes, if the body is compressed. */
  #compressed: Readable | null = null;

  constructor(limits: ExchangeLimits, resolve: (result: ExchangeResult) => void) {
    this.#maxBodyBytes = limits.maxBodyBytes;
    this.#resolve = resolve;
    this.#timer = setTimeout(() => this.#timeOut(), limits.exchangeTimeoutMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The exchange timed out while it waited for a connection. The request is not sent.
    if (this.#isOver) this.#abort();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#head = { status, headers };
    const encoding = headers['content-encoding'];
    if (!isCompressed(encoding)) return;
    this.#compressed = new Readable({ read: () => controller.resume() });
    void readCapped(this.#compressed, encoding, this.#maxBodyBytes).then(({ body, problem }) =>
      this.#end(body, problem),
    );
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#compressed !== null) {
      if (!this.#compressed.push(piece)) controller.pause();
      return;
    }
    this.#pieces.push(piece);
    this.#size += piece.length;
    if (this.#size > this.#maxBodyBytes) this.#end(this.#body(), 'cut');
  }

  onResponseEnd(): void {
    // The whole answer was read, so the connection stays open for the next request.
    this.#controller = null;
    if (this.#compressed === null) this.#end(this.#body(), null);
    else this.#compressed.push(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return;
    if (this.#compressed !== null) this.#compressed.destroy(error);
    else if (this.#head !== null) this.#end(this.#body(), 'broken');
    else this.#settle({ answered: false, failure: networkFailure(error) });
  }

  #timeOut(): void {
    this.#timedOut = true;
    if (this.#compressed !== null) this.#compressed.destroy(new Error('the exchange timed out'));
    else if (this.#head !== null) this.#end(this.#body(), 'timeout');
    else this.#settle({ answered: false, failure: 'timeout' });
  }

  #body(): Buffer {
    const body = Buffer.concat(this.#pieces);
    return body.length > this.#maxBodyBytes ? body.subarray(0, this.#maxBodyBytes) : body;
  }

  #end(body: Buffer, problem: BodyProblem): void {
    const bodyProblem = problem === 'broken' && this.#timedOut ? 'timeout' : problem;
    this.#settle({ answered: true, ...this.#head!, body, bodyProblem });
  }

  #settle(result: ExchangeResult): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#resolve(result);
    this.#abort();
  }

  /** Closes the connection, unless the whole answer was read. */
  #abort(): void {
    this.#controller?.abort(new Error('the exchange is over'));
  }
}
