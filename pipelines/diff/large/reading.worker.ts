import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { CompareError } from '../../changes/errors.ts';
import { openPublication } from '../publication.ts';
import { canonicalText } from './pages.ts';
import { type FromThread, largeModule, type ReadingJob } from './reading.ts';

// This thread inflates a publication. It copies each piece of text into a free slot and posts the slot's number to the
// main thread. The main thread posts the number back when it no longer needs the slot.

const job = workerData as ReadingJob;
const slots = job.slots.map((slot) => Buffer.from(slot));
const free = [...slots.keys()];

const post = (message: FromThread) => parentPort!.postMessage(message);
parentPort!.on('message', (slot: number) => free.push(slot));

async function freeSlot(): Promise<number> {
  while (free.length === 0) await once(parentPort!, 'message');
  return free.shift()!;
}

try {
  const { source, format } = largeModule(job.register);
  const publication = await openPublication(job.path, source.container, job.limits);
  for await (const piece of canonicalText(publication.chunks(), format)) {
    const slot = await freeSlot();
    // `set` would copy into shared memory word by word, which is twelve times slower than `fill`.
    slots[slot]!.fill(piece, 0, piece.length);
    post({ kind: 'piece', slot, bytes: piece.length });
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
