import type { Socket } from 'node:net';
import { failure, type QueryFailure } from './errors.ts';
import type { Limits } from './limits.ts';
import type { Reply, Summary } from './reply.ts';

/** As a server's own buffer: a query that fails before it is full gets a clean error. The engine's pieces are as large. */
const maxSmallBytes = 1_048_576;
/** The first piece does not wait longer than this for the rest: some formats put out progress rows now and then. */
const maxSmallMs = 1_000;

/** The way of a result from its pipe to the caller. Whole rows only pass through: nothing here looks into them. */
export class Outgoing {
  /** Set when the result was given up here, not by the engine. */
  overflow: QueryFailure | undefined;
  readonly #reply: Reply;
  readonly #format: string;
  readonly #limits: Limits;
  readonly #onBegin: () => void;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #discarding = false;
  #stream: Socket | undefined;
  #soon: NodeJS.Timeout | undefined;
  #stalled: NodeJS.Timeout | undefined;

  constructor(reply: Reply, format: string, limits: Limits, onBegin: () => void) {
    this.#reply = reply;
    this.#format = format;
    this.#limits = limits;
    this.#onBegin = onBegin;
  }

  /** @param stop ends the query, when the caller does not read its result */
  take(stream: Socket, stop: () => void): void {
    this.#stream = stream;
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => {
      if (this.#discarding) return;
      if (this.#reply.begun) {
        if (!this.#reply.write(chunk)) this.#wait(stream, stop);
        return;
      }
      this.#held.push(chunk);
      this.#heldBytes += chunk.length;
      if (this.#heldBytes >= maxSmallBytes) this.#begin();
      else this.#soon ??= setTimeout(() => this.#begin(), maxSmallMs);
    });
  }

  /** Reads on to nowhere, because an engine that cannot write does not notice that it was killed. */
  discard(): void {
    this.#discarding = true;
    this.#held = [];
    this.#rest();
    this.#stream?.resume();
  }

  /** Waits until the pipe has ended and everything has been handed on. @throws QueryFailure 210 when it does not end */
  async atEnd(stream: Socket): Promise<void> {
    if (stream.readableEnded || stream.destroyed) return;
    const { pipeEndTimeoutMs } = this.#limits;
    await new Promise<void>((resolve, reject) => {
      let timer = setTimeout(check, pipeEndTimeoutMs);
      let seen = stream.bytesRead;
      const settled = () => clearTimeout(timer);
      stream.once('end', () => {
        settled();
        resolve();
      });
      stream.once('close', () => {
        settled();
        resolve();
      });
      function check() {
        if (stream.bytesRead === seen && !stream.isPaused())
          return reject(failure(210, 'NETWORK_ERROR', 'The end of the result did not come'));
        seen = stream.bytesRead;
        timer = setTimeout(check, pipeEndTimeoutMs);
      }
    });
  }

  complete(summary: Summary): void {
    this.#rest();
    // The query may have ended well before it could be stopped.
    if (this.overflow !== undefined) this.#reply.fail(this.overflow);
    else if (this.#discarding) return;
    else if (this.#reply.begun) this.#reply.finish();
    else this.#reply.whole(this.#format, Buffer.concat(this.#held), summary);
  }

  fail(failure: QueryFailure): void {
    this.discard();
    this.#reply.fail(this.overflow ?? failure);
  }

  #begin(): void {
    if (this.#discarding || this.#reply.begun) return;
    this.#rest();
    this.#onBegin();
    this.#reply.begin(this.#format);
    for (const chunk of this.#held) this.#reply.write(chunk);
    this.#held = [];
  }

  #wait(stream: Socket, stop: () => void): void {
    stream.pause();
    const { sendTimeoutMs } = this.#limits;
    this.#stalled = setTimeout(() => {
      this.overflow = failure(209, 'SOCKET_TIMEOUT', `The result was not read for ${sendTimeoutMs} ms`);
      this.discard();
      stop();
    }, sendTimeoutMs);
    this.#reply.onDrain(() => {
      clearTimeout(this.#stalled);
      stream.resume();
    });
  }

  #rest(): void {
    clearTimeout(this.#soon);
    clearTimeout(this.#stalled);
  }
}
