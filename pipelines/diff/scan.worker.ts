import { parentPort, workerData } from 'node:worker_threads';
import { CompareError } from './errors.ts';
import { type Page, pageBytes, pageIn, pagesOf } from './pages.ts';
import type { FromThread, ScanJob } from './scan-thread.ts';
import { openPublication } from './zip.ts';

// Reads a publication into shared pages: takes a free page, fills it, tells its number; the other side tells it when
// the page may be filled again.
const job = workerData as ScanJob;
const pages = Array.from({ length: job.pages }, (_, page) => pageIn(job.memory, page * pageBytes));
const free = [...pages];
let wake: (() => void) | null = null;

const tell = (message: FromThread) => parentPort!.postMessage(message);
parentPort!.on('message', (page: number) => {
  free.push(pages[page]!);
  wake?.();
});

async function freePage(): Promise<Page> {
  while (free.length === 0) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  return free.shift()!;
}

try {
  const publication = await openPublication(job.path, job.limits);
  for await (const page of pagesOf(publication.chunks(), job.seed, freePage)) {
    tell({ kind: 'page', page: pages.indexOf(page), textBytes: page.textBytes, rows: page.rows.count });
  }
  tell({ kind: 'end' });
} catch (error) {
  // An error's code is lost on its way between threads, so a typed one is taken apart here and put together there.
  if (!(error instanceof CompareError)) throw error;
  tell({ kind: 'fault', code: error.code, message: error.message });
} finally {
  parentPort!.close();
}
