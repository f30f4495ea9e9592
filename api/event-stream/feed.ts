import type { EventRow } from '../../pipelines/watch/history.ts';
import type { Notifier } from '../../workflows/delivery/in-flight.ts';

/** Reads the events of one account. An event's position is its place in the order of these events. */
export interface FeedSource {
  /** Returns the position of the account's last event. */
  lastPosition(): Promise<number>;
  /** Returns the events after the position that pass the stream's filter, in order. */
  read(after: number, limit: number): Promise<readonly Pick<EventRow, 'position' | 'payload'>[]>;
  /** Resolves with true when no event after the position has been removed. */
  isKept(after: number): Promise<boolean>;
}

export interface FeedLimits {
  /** Largest number of events in one query, and so the most that wait in memory for a slow client. */
  pageRows: number;
  /** After this time without an event a block without data is sent, so that the client sees that the stream is open. */
  commentMs: number;
  /** How long a client should wait before it reconnects. */
  retryMs: number;
}

/**
 * Yields an account's events after the position `start` as Server-Sent Events, until the signal aborts. The feed asks
 * the database only when the reader has taken the previous text.
 *
 * Each round reads the account's last position before it reads events. When it has read all events up to that position,
 * the next round starts after the position, even if no event passed the filter. The feed ends when events were removed
 * from the database before the feed yielded them. Then the client reconnects with its Last-Event-ID and gets an error.
 *
 * The first block, and each block that follows a time without events, has a comment and an `id` but no data. An
 * EventSource stores the id and shows no event (WHATWG HTML, section 9.2.6). So a client that is cut off before its first
 * event misses none, and a client whose filter lets nothing pass never falls behind the retention.
 */
export async function* feed(
  source: FeedSource,
  start: number,
  { notifier, signal, limits }: { notifier: Notifier; signal: AbortSignal; limits: FeedLimits },
): AsyncGenerator<string, void, undefined> {
  yield `retry: ${limits.retryMs}\n: conectado\nid: ${start}\n\n`;
  let after = start;
  let yieldedAt = performance.now();
  while (!signal.aborted) {
    // Reset before the reads: a notification that arrives during the reads may be about an event that they did not see.
    notifier.reset();
    const last = await source.lastPosition();
    const events = last > after ? await source.read(after, limits.pageRows) : [];
    if (last > after && !(await source.isKept(after))) return;
    for (const { position, payload } of events) {
      if (signal.aborted) return;
      // Some clients store an id as soon as its line arrives. So the id follows the data: if the connection is cut
      // between the two lines, the client has not stored the id and gets the event again.
      yield `data: ${payload}\nid: ${position}\n\n`;
      after = position;
    }
    if (events.length > 0) yieldedAt = performance.now();
    if (events.length === limits.pageRows) continue;
    after = Math.max(after, last);
    const quietMs = performance.now() - yieldedAt;
    if (quietMs >= limits.commentMs) {
      yield `: sigue abierto\nid: ${after}\n\n`;
      yieldedAt = performance.now();
    } else if (events.length === 0) {
      await notifier.wait(limits.commentMs - quietMs);
    }
  }
}
