import type { Worker } from 'node:worker_threads';
import type { RegisterName } from '../../schemas/registers.ts';
import { CompareError, type CompareErrorCode } from './errors.ts';
import { newPageMemory, type Page, pageIn } from './pages.ts';
import type { PublicationLimits } from './published-text.ts';
import type { HashSeed } from './scan.ts';
import { startThread } from './thread.ts';

export interface ScanJob {
  register: RegisterName;
  path: string;
  limits: PublicationLimits;
  seed: HashSeed;
  pages: SharedArrayBuffer[];
}

export type FromThread =
  | { kind: 'page'; page: number; textBytes: number; rows: number; emptyNames: number; repairables: number }
  | { kind: 'end' }
  | { kind: 'fault'; code: CompareErrorCode; message: string };

/** How far reading may run ahead: some 25 MB. */
const pages = 6;

/**
 * Inflates, checks and reads a publication on a thread of its own, from the moment it is made, into pages that are handed
 * over and back. They are shared, not moved: once any memory was moved, V8 checks at each access whether it still is there,
 * which costs the look-ups a fifth more. Waiting is by messages, never by blocking: a thread that dies ends `pages` with an error instead of
 * leaving it waiting, and an abort comes through. `close` must be called.
 */
export class ScanThread {
  readonly #pages: Page[];
  readonly #thread: Worker;
  readonly #messages: FromThread[] = [];
  #failure: Error | null = null;
  #wake = () => {};

  constructor(register: RegisterName, path: string, limits: PublicationLimits, seed: HashSeed) {
    const memory = Array.from({ length: pages }, newPageMemory);
    this.#pages = memory.map(pageIn);
    const job: ScanJob = { register, path, limits, seed, pages: memory };
    this.#thread = startThread(new URL('./scan.worker.ts', import.meta.url), job);
    this.#thread.on('message', (message: FromThread) => {
      this.#messages.push(message);
      this.#wake();
    });
    this.#thread.on('error', (error) => this.#fail(error));
    this.#thread.on('exit', () => this.#fail(new Error('the reading thread ended early')));
  }

  /** The publication's pages in order, once; each is valid until the next one is asked for. */
  async *pages(): AsyncGenerator<Page> {
    for (;;) {
      const message = this.#messages.shift();
      if (message?.kind === 'end') return;
      if (message?.kind === 'fault') throw new CompareError(message.code, message.message);
      if (message?.kind === 'page') {
        const page = this.#pages[message.page]!;
        page.textBytes = message.textBytes;
        page.rows.count = message.rows;
        page.rows.emptyNames = message.emptyNames;
        page.rows.repairables = message.repairables;
        yield page;
        this.#thread.postMessage(message.page);
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
    // All that was said before comes first: `pages` looks here only when no message waits.
    this.#failure ??= error instanceof Error ? error : new Error('the reading thread failed');
    this.#wake();
  }
}
