import { on } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { RegisterName } from '../../../schemas/registers.ts';
import type { HashSeed } from '../../changes/change-file.ts';
import { CompareError, type CompareErrorCode } from '../../changes/errors.ts';
import type { LargeFormat, RegisterModule } from '../../registers/module.ts';
import { registerModules } from '../../registers/modules.ts';
import { openPublication } from '../publication.ts';
import type { CompareLimits, Progress } from '../types.ts';
import type { PublicationLimits, PublishedText } from '../zip.ts';
import type { Classifier } from './classify.ts';
import { newPageMemory, type Page, pageIn, pagesOf } from './pages.ts';

export type LargeModule = RegisterModule & { format: LargeFormat };

/** Returns the module of a large register. A call with a small register is a bug. */
export function largeModule(register: RegisterName): LargeModule {
  const { source, format } = registerModules[register];
  if (format.size !== 'large') throw new Error(`${register} is a small register: another engine compares it`);
  return { register, source, format };
}

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

/** Number of pages that the reading thread fills before it waits for the caller. They take some 25 MB. */
const maxPages = 6;

/**
 * Inflates, checks and reads a publication on a thread of its own, which starts in the constructor. Callers must call
 * `close`. The thread fills pages and gets them back after use.
 * - The pages are shared memory. Never transfer a page to another thread: V8 would then check the memory at each
 *   access, and look-ups in the index would take a fifth longer.
 * - Neither thread may block while it waits for messages. Otherwise the caller's thread would not notice an abort or
 *   the reading thread's death.
 */
export class ScanThread {
  readonly #pages: Page[];
  readonly #thread: Worker;
  readonly #messages: AsyncIterable<[FromThread]>;

  constructor(register: RegisterName, path: string, limits: PublicationLimits, seed: HashSeed) {
    const memory = Array.from({ length: maxPages }, newPageMemory);
    this.#pages = memory.map(pageIn);
    const job: ScanJob = { register, path, limits, seed, pages: memory };
    this.#thread = startThread(new URL('./scan.worker.ts', import.meta.url), job);
    // This yields all messages that came before an error or the end of the thread, and only then fails or ends.
    this.#messages = on(this.#thread, 'message', { close: ['exit'] }) as AsyncIterable<[FromThread]>;
    // A failure that comes when nobody reads the messages any more must not end this process.
    this.#thread.on('error', () => {});
  }

  /** Yields the publication's pages in order. Call it only once. A page is valid until the caller asks for the next. */
  async *pages(): AsyncGenerator<Page> {
    for await (const [message] of this.#messages) {
      if (message.kind === 'end') return;
      if (message.kind === 'fault') throw new CompareError(message.code, message.message);
      const page = this.#pages[message.page]!;
      page.textBytes = message.textBytes;
      page.rows.count = message.rows;
      page.rows.emptyNames = message.emptyNames;
      page.rows.repairables = message.repairables;
      yield page;
      this.#thread.postMessage(message.page);
    }
    throw new Error('the reading thread ended early');
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}

const progressEveryMs = 500;

/** Reads a publication into pages. A long text is read by a thread of its own, a short text by this thread. */
export interface Reading {
  text: PublishedText;
  /** Starts to read. A thread reads a long text ahead while the caller does other things. Callers must call `close`. */
  start(seed: HashSeed): AsyncIterable<Page>;
  close(): Promise<void>;
}

/** Opens the publication but reads no row yet. @throws CompareError as `openPublication` */
export async function openReading(module: LargeModule, path: string, limits: CompareLimits): Promise<Reading> {
  const { register, source, format } = module;
  const text = await openPublication(path, source.container, limits);
  let thread: ScanThread | null = null;
  return {
    text,
    start(seed) {
      if (text.textBytes < limits.minThreadTextBytes) {
        const page = pageIn(newPageMemory());
        return pagesOf(text.chunks(), format, seed, () => page);
      }
      thread = new ScanThread(register, path, limits, seed);
      return thread.pages();
    },
    close: async () => await thread?.close(),
  };
}

/** Gives all pages to `classifier`. @throws the errors of `pages`; the signal's reason when aborted */
export async function classifyPages(
  pages: AsyncIterable<Page>,
  textBytes: number,
  classifier: Classifier,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<void> {
  let bytes = 0;
  let reportedAt = 0;
  for await (const page of pages) {
    signal.throwIfAborted();
    classifier.add(page);
    bytes += page.textBytes;
    if (Date.now() - reportedAt < progressEveryMs) continue;
    reportedAt = Date.now();
    report({ phase: 'scan', done: bytes, total: textBytes, lines: classifier.lines });
  }
}

/**
 * Starts a TypeScript module as a thread. On Node 20 a thread does not inherit the loader that `--import tsx` set up
 * for the process, whatever its `execArgv` says. So the thread registers the loader itself.
 */
function startThread(module: URL, workerData: unknown): Worker {
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const target = JSON.stringify(module.href);
  const start = `import(${loader}).then(({ register }) => { register(); return import(${target}); });`;
  return new Worker(start, { eval: true, workerData });
}
