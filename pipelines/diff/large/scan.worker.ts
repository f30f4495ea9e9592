import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { CompareError } from '../../changes/errors.ts';
import { openPublication } from '../publication.ts';
import { type Page, pageIn, pagesOf } from './pages.ts';
import { type FromThread, largeModule, type ScanJob } from './scan-thread.ts';

// This thread reads a publication into pages. It fills a free page and posts the page's number to the main thread. The
// main thread posts the number back when it no longer needs the page.

const job = workerData as ScanJob;
const pages = job.pages.map(pageIn);
const free = [...pages];

const post = (message: FromThread) => parentPort!.postMessage(message);
parentPort!.on('message', (page: number) => free.push(pages[page]!));

async function freePage(): Promise<Page> {
  while (free.length === 0) await once(parentPort!, 'message');
  return free.shift()!;
}

try {
  const { source, format } = largeModule(job.register);
  const publication = await openPublication(job.path, source.container, job.limits);
  for await (const page of pagesOf(publication.chunks(), format, job.seed, freePage)) {
    const { textBytes, rows } = page;
    const { count, emptyNames, repairables } = rows;
    post({ kind: 'page', page: pages.indexOf(page), textBytes, rows: count, emptyNames, repairables });
  }
  post({ kind: 'end' });
} catch (error) {
  // An error that is posted to another thread loses its code. So its code and message are posted, and the main thread
  // makes a new error from them.
  if (!(error instanceof CompareError)) throw error;
  post({ kind: 'fault', code: error.code, message: error.message });
} finally {
  parentPort!.close();
}
