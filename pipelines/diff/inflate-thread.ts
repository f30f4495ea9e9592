import type { Worker } from 'node:worker_threads';
import { CompareError, type CompareErrorCode } from './errors.ts';
import { startThread } from './thread.ts';
import { chunkBytes, type ZipLimits } from './zip.ts';

export interface InflateJob {
  path: string;
  limits: ZipLimits;
  ring: SharedArrayBuffer;
  slotBytes: number;
  slots: number;
}

export type FromThread =
  | { kind: 'piece'; slot: number; length: number }
  | { kind: 'end' }
  | { kind: 'fault'; code: CompareErrorCode; message: string };

/** How far inflating may run ahead: 16 MB. */
const slots = 8;

/**
 * Inflates and checks a publication on a thread of its own, from the moment it is made, into memory that is used again
 * and again. Waiting is by messages, never by blocking: a thread that dies ends `chunks` with an error instead of
 * leaving it waiting, and an abort comes through. `close` must be called.
 */
export class InflateThread {
  readonly #memory: Uint8Array;
  readonly #thread: Worker;
  readonly #messages: FromThread[] = [];
  #failure: Error | null = null;
  #wake = () => {};

  constructor(path: string, limits: ZipLimits) {
    const ring = new SharedArrayBuffer(slots * chunkBytes);
    this.#memory = new Uint8Array(ring);
    const job: InflateJob = { path, limits, ring, slotBytes: chunkBytes, slots };
    this.#thread = startThread(new URL('./inflate.worker.ts', import.meta.url), job);
    this.#thread.on('message', (message: FromThread) => {
      this.#messages.push(message);
      this.#wake();
    });
    this.#thread.on('error', (error) => this.#fail(error));
    this.#thread.on('exit', () => this.#fail(new Error('the inflating thread ended early')));
  }

  /** The text in pieces, once; each is valid until the next one is asked for. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const message = this.#messages.shift();
      if (message?.kind === 'end') return;
      if (message?.kind === 'fault') throw new CompareError(message.code, message.message);
      if (message?.kind === 'piece') {
        const from = message.slot * chunkBytes;
        yield this.#memory.subarray(from, from + message.length);
        this.#thread.postMessage(message.slot);
      } else if (this.#failure !== null) throw this.#failure;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }

  #fail(error: unknown): void {
    // All that was said before comes first: `chunks` looks here only when no message waits.
    this.#failure ??= error instanceof Error ? error : new Error('the inflating thread failed');
    this.#wake();
  }
}
