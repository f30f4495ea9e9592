import type { EventRow } from '../../pipelines/watch/history.ts';
import type { Notifier } from '../../workflows/delivery/in-flight.ts';

export interface FeedSource {
  /** The account's last position. */
  lastPosition(): Promise<number>;
  /** Events after the position that pass the filter, in order. */
  read(after: number, limit: number): Promise<readonly Pick<EventRow, 'position' | 'payload'>[]>;
  /** Whether everything after the position is still kept. */
  isKept(after: number): Promise<boolean>;
}

export interface FeedLimits {
  /** Events of one query; as many wait for a client that reads slowly, and no more. */
  pageRows: number;
  /** Silence after which a comment says that the stream is open. */
  commentMs: number;
  /** How long a client should wait before it comes back. */
  retryMs: number;
}

/**
 * Server-Sent Events of an account after a position, as text, until the signal aborts. Whoever reads pulls: nothing is asked of
 * the database while the last text waits to be taken.
 *
 * The last position is asked before the events, so all up to it are in what is read, and a stream whose filter lets
 * little pass goes on from it without reading the rest again. It ends where events that it did not show are gone: the
 * client comes back with its Last-Event-ID and is told.
 */
export async function* feed(
  source: FeedSource,
  start: number,
  { notifier, signal, limits }: { notifier: Notifier; signal: AbortSignal; limits: FeedLimits },
): AsyncGenerator<string, void, undefined> {
  yield `retry: ${limits.retryMs}\n: conectado\n\n`;
  let after = start;
  let spokeAt = performance.now();
  while (!signal.aborted) {
    // Before anything is read: what rings from here on was perhaps not seen.
    notifier.reset();
    const last = await source.lastPosition();
    const events = last > after ? await source.read(after, limits.pageRows) : [];
    if (last > after && !(await source.isKept(after))) return;
    for (const { position, payload } of events) {
      if (signal.aborted) return;
      yield `id: ${position}\ndata: ${payload}\n\n`;
      after = position;
    }
    if (events.length > 0) spokeAt = performance.now();
    if (events.length === limits.pageRows) continue;
    after = Math.max(after, last);
    const quietMs = performance.now() - spokeAt;
    if (quietMs >= limits.commentMs) {
      yield ': sigue abierto\n\n';
      spokeAt = performance.now();
    } else if (events.length === 0) {
      await notifier.wait(limits.commentMs - quietMs);
    }
  }
}
