import { parentPort, workerData } from 'node:worker_threads';
import { CompareError } from './errors.ts';
import type { FromThread, InflateJob } from './inflate-thread.ts';
import { openPublication } from './zip.ts';

// Inflates a publication into a ring of shared slots: takes a free slot, fills it, tells its number; the other side
// tells it when the slot may be filled again.
const { path, limits, ring, slotBytes, slots } = workerData as InflateJob;
const memory = new Uint8Array(ring);
const free = Array.from({ length: slots }, (_, slot) => slot);
let wake: (() => void) | null = null;

const tell = (message: FromThread) => parentPort!.postMessage(message);
parentPort!.on('message', (slot: number) => {
  free.push(slot);
  wake?.();
});

async function freeSlot(): Promise<number> {
  while (free.length === 0) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  return free.shift()!;
}

try {
  const publication = await openPublication(path, limits);
  for await (const piece of publication.chunks()) {
    // The stream may join pieces, so one can be longer than a slot.
    for (let from = 0; from < piece.length; from += slotBytes) {
      const part = piece.subarray(from, from + slotBytes);
      const slot = await freeSlot();
      memory.set(part, slot * slotBytes);
      tell({ kind: 'piece', slot, length: part.length });
    }
  }
  tell({ kind: 'end' });
} catch (error) {
  // An error's code is lost on its way between threads, so a typed one is taken apart here and put together there.
  if (!(error instanceof CompareError)) throw error;
  tell({ kind: 'fault', code: error.code, message: error.message });
} finally {
  parentPort!.close();
}
