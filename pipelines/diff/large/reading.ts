import { on } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { RegisterName } from '../../../schemas/registers.ts';
import type { HashSeed } from '../../changes/change-file.ts';
import { CompareError, type CompareErrorCode } from '../../changes/errors.ts';
import type { LargeFormat, RegisterModule } from '../../registers/module.ts';
import { registerModules } from '../../registers/modules.ts';
import { KernelMemory } from '../kernel/kernel.ts';
import { openPublication } from '../publication.ts';
import type { CompareLimits, Progress } from '../types.ts';
import { chunkBytes, type PublicationLimits, type PublishedText } from '../zip.ts';
import type { Classifier } from './classify.ts';
import { canonicalText, newPage, type Page, pagesOf } from './pages.ts';

export type LargeModule = RegisterModule & { format: LargeFormat };

/** Returns the module of a large register. A call with a small register is a bug. */
export function largeModule(register: RegisterName): LargeModule {
  const { source, format } = registerModules[register];
  if (format.size !== 'large') throw new Error(`${register} is a small register: another engine compares it`);
  return { register, source, format };
}

export interface ReadingJob {
  register: RegisterName;
  path: string;
  limits: PublicationLimits;
  slots: SharedArrayBuffer[];
}

export type FromThread =
  | { kind: 'piece'; slot: number; bytes: number }
  | { kind: 'end' }
  | { kind: 'fault'; code: CompareErrorCode; message: string };

/** Number of pieces of text (2 MB each) that the thread puts into slots before it waits for the caller. */
const maxSlots = 6;

/**
 * Inflates and checks a publication on a thread of its own, which starts in the constructor. Callers must call `close`.
 * The thread copies pieces of text into slots of shared memory and gets the slots back after use. It does nothing else,
 * because inflating takes as long as all that the caller does with the text.
 *
 * Neither thread may block while it waits for messages. Otherwise the caller's thread would not notice an abort or the
 * reading thread's death.
 */
export class ReadingThread {
  readonly #slots: Buffer[];
  readonly #thread: Worker;
  readonly #messages: AsyncIterable<[FromThread]>;

  constructor(register: RegisterName, path: string, limits: PublicationLimits) {
    const slots = Array.from({ length: maxSlots }, () => new SharedArrayBuffer(chunkBytes));
    this.#slots = slots.map((slot) => Buffer.from(slot));
    const job: ReadingJob = { register, path, limits, slots };
    this.#thread = startThread(new URL('./reading.worker.ts', import.meta.url), job);
    // This yields all messages that came before an error or the end of the thread, and only then fails or ends.
    this.#messages = on(this.#thread, 'message', { close: ['exit'] }) as AsyncIterable<[FromThread]>;
    // A failure that comes when nobody reads the messages any more must not end this process.
    this.#thread.on('error', () => {});
  }

  /** Yields the text in order. Call it only once. A piece is valid until the caller asks for the next. */
  async *pieces(): AsyncGenerator<Buffer> {
    for await (const [message] of this.#messages) {
      if (message.kind === 'end') return;
      if (message.kind === 'fault') throw new CompareError(message.code, message.message);
      yield this.#slots[message.slot]!.subarray(0, message.bytes);
      this.#thread.postMessage(message.slot);
    }
    throw new Error('the reading thread ended early');
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}

const progressEveryMs = 500;

/** Reads a publication into pages. A long text is inflated by a thread of its own, a short text by this thread. */
export interface Reading {
  text: PublishedText;
  /** The memory that the pages lie in. The index of a `RowMatcher` must lie in it too. */
  memory: KernelMemory;
  /** Starts to read. A thread reads a long text ahead while the caller does other things. Callers must call `close`. */
  start(seed: HashSeed): AsyncIterable<Page>;
  close(): Promise<void>;
}

/** Opens the publication but reads no row yet. @throws CompareError as `openPublication` */
export async function openReading(module: LargeModule, path: string, limits: CompareLimits): Promise<Reading> {
  const { register, source, format } = module;
  const text = await openPublication(path, source.container, limits);
  const memory = new KernelMemory();
  let thread: ReadingThread | null = null;
  return {
    text,
    memory,
    start(seed) {
      if (text.textBytes >= limits.minThreadTextBytes) thread = new ReadingThread(register, path, limits);
      return pagesOf(thread?.pieces() ?? canonicalText(text.chunks(), format), format, seed, newPage(memory));
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
