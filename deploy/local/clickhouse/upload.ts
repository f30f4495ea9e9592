import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { failure } from './errors.ts';

/** The body's pieces. Leaving early does not destroy the body: its caller may still have to be told why. */
export async function* chunksOf(body: Readable, idleTimeoutMs: number): AsyncGenerator<Buffer> {
  const giveUp = () =>
    body.destroy(failure(209, 'SOCKET_TIMEOUT', `Nothing of the body has come for ${idleTimeoutMs} ms`));
  let timer = setTimeout(giveUp, idleTimeoutMs);
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      clearTimeout(timer);
      yield chunk as Buffer;
      // Only while we wait for the caller, not while it waits for our disk.
      timer = setTimeout(giveUp, idleTimeoutMs);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Reads what is left of a refused upload: a caller reads the answer only if the connection is not reset under it. */
export async function readToNowhere(message: IncomingMessage, timeoutMs: number): Promise<void> {
  if (message.complete || message.destroyed) return;
  message.unpipe();
  const ended = new Promise<void>((resolve) => {
    message.once('end', resolve);
    message.once('close', resolve);
  });
  message.on('error', () => undefined);
  message.resume();
  await Promise.race([ended, sleep(timeoutMs, undefined, { ref: false })]);
}
