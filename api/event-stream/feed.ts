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
  /** Events of one query. A client that reads slowly makes no more than these wait. */
  pageRows: number;
  /** Time without an event after which a comment shows that the stream is open. */
  commentMs: number;
  /** How long a client should wait before it reconnects. */
  retryMs: number;
}

/**
 * Yields an account's events after a position as Server-Sent Events, until the signal aborts. It queries the database only when
 * the reader has taken the previous text.
 *
 * Each round reads the last position before the events, so it has seen every event up to that position and continues from there,
 * even if the filter let none of them pass. It ends when events that it did not show have been removed: the client reconnects
 * with its Last-Event-ID and gets the error.
 */
export async function* feed(
  source: FeedSource,
  start: number,
  { notifier, signal, limits }: { notifier: Notifier; signal: AbortSignal; limits: FeedLimits },
): AsyncGenerator<string, void, undefined> {
  yield `retry: ${limits.retryMs}\n: conectado\n\n`;
  let after = start;
  let yieldedAt = performance.now();
  while (!signal.aborted) {
    // The reset comes before the reads: a notification after it may be about an event that they miss.
    notifier.reset();
    const last = await source.lastPosition();
    const events = last > after ? await source.read(after, limits.pageRows) : [];
    if (last > after && !(await source.isKept(after))) return;
    for (const { position, payload } of events) {
      if (signal.aborted) return;
      yield `id: ${position}\ndata: ${payload}\n\n`;
      after = position;
    }
    if (events.length > 0) yieldedAt = performance.now();
    if (events.length === limits.pageRows) continue;
    after = Math.max(after, last);
    const quietMs = performance.now() - yieldedAt;
    if (quietMs >= limits.commentMs) {
      yield ': sigue abierto\n\n';
      yieldedAt = performance.now();
    } else if (events.length === 0) {
      await notifier.wait(limits.commentMs - quietMs);
    }
  }
}
