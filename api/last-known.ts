import { LRUCache } from 'lru-cache';
import { within } from '../pipelines/runtime/lifecycle.ts';

/**
 * Keeps, per key, the last value that was read from a slow or unreliable store. A value's age counts from the beginning
 * of its read. `get` chooses by the age:
 * - Below half of `freshMs`: returns the value.
 * - Up to `freshMs`: returns the value and starts a read in the background.
 * - Above `freshMs`: waits for a new read. If the read fails, `get` returns the last value up to the age `servesMs`,
 *   and after that throws the store's error.
 * Callers that ask at the same time share one read.
 */
export interface LastKnown<Key, Value> {
  get(key: Key): Promise<Value>;
}

export interface LastKnownLimits {
  freshMs: number;
  servesMs: number;
  /** A read that takes longer counts as failed. */
  loadTimeoutMs: number;
  /** The same for a key without a last value, whose callers would get an error. The default is `loadTimeoutMs`. */
  firstTimeoutMs?: number;
  /** After a failed read, the last value is served for this long without another read. */
  retryAfterMs: number;
  maxEntries: number;
}

/** Shortest ttl, because lru-cache takes a ttl of 0 as "for ever". */
const minTtlMs = 1;

export function makeLastKnown<Key extends string | number, Value>(
  load: (key: Key) => Promise<Value>,
  { freshMs, servesMs, loadTimeoutMs, firstTimeoutMs = loadTimeoutMs, retryAfterMs, maxEntries }: LastKnownLimits,
  now: () => number = () => performance.now(),
): LastKnown<Key, Value> {
  // A value has two age limits, `freshMs` and `servesMs`, and after a failed read a pause. lru-cache has only one limit
  // per entry, `ttl`. So `ttl` is the time until the next read. The time at which the value's read began (`readAt`)
  // decides whether the value may still be served.
  const cache = new LRUCache<Key, { value: Value; readAt: number }>({
    max: maxEntries,
    ttl: freshMs / 2,
    ttlResolution: 0,
    // lru-cache takes a start time of 0 as none, so its clock never shows 0.
    perf: { now: () => now() + 1 },
    // When an entry is evicted during its read, the callers of the read still get the value.
    ignoreFetchAbort: true,
    async fetchMethod(key, last, { options }) {
      const readAt = now();
      try {
        const value = await within(last === undefined ? firstTimeoutMs : loadTimeoutMs, load(key));
        options.ttl = Math.max(minTtlMs, readAt + freshMs / 2 - now());
        return { value, readAt };
      } catch (error) {
        const servesForMs = last === undefined ? -1 : last.readAt + servesMs - now();
        if (last === undefined || servesForMs < 0) throw error;
        options.ttl = Math.max(minTtlMs, Math.min(retryAfterMs, servesForMs));
        return last;
      }
    },
  });
  return {
    async get(key) {
      const last = cache.peek(key, { allowStale: true });
      const ageMs = last === undefined ? Number.POSITIVE_INFINITY : now() - last.readAt;
      // Nearly every call ends here. The library would return the same value, but takes longer for it.
      if (ageMs < freshMs / 2) return last!.value;
      const isFresh = ageMs <= freshMs;
      return (await cache.forceFetch(key, { allowStale: isFresh })).value;
    },
  };
}
