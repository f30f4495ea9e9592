import type { Classifier } from './classify.ts';
import type { LargeModule } from './large-module.ts';
import { newPageMemory, type Page, pageIn, pagesOf } from './pages.ts';
import { openPublication } from './publication.ts';
import type { PublishedText } from './published-text.ts';
import type { HashSeed } from './scan.ts';
import { ScanThread } from './scan-thread.ts';
import type { CompareLimits, Progress } from './types.ts';

const progressEveryMs = 500;

/** A publication that is being read into pages: from `start` on by a thread of its own, where its text is long enough. */
export class Reading {
  readonly text: PublishedText;
  readonly #module: LargeModule;
  readonly #path: string;
  readonly #limits: CompareLimits;
  #thread: ScanThread | null = null;

  private constructor(module: LargeModule, path: string, limits: CompareLimits, text: PublishedText) {
    this.#module = module;
    this.#path = path;
    this.#limits = limits;
    this.text = text;
  }

  /** Opens the publication; nothing is read yet. Errors: as `openPublication`. */
  static async open(module: LargeModule, path: string, limits: CompareLimits): Promise<Reading> {
    return new Reading(module, path, limits, await openPublication(path, module.source.container, limits));
  }

  /** Begins to read ahead, so that the caller can do other things meanwhile. `close` must be called. */
  start(seed: HashSeed): AsyncIterable<Page> {
    if (this.text.textBytes < this.#limits.minThreadTextBytes) {
      const page = pageIn(newPageMemory());
      return pagesOf(this.text.chunks(), this.#module.format, seed, () => page);
    }
    this.#thread = new ScanThread(this.#module.register, this.#path, this.#limits, seed);
    return this.#thread.pages();
  }

  async close(): Promise<void> {
    await this.#thread?.close();
  }
}

/** First pass over a publication. Errors: those of its pages; the signal's reason when aborted. */
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
