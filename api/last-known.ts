import { within } from './problems.ts';

/**
 * Keeps what was last read of a slow or fallible store, by key. A value is fresh for `freshMs`, counted from the moment
 * its read began; from half of that on a read in the background renews it, so that no caller waits. When the store does
 * not answer, the last value serves for `servesMs`; after that the store's error is thrown.
 */
export interface LastKnown<Key, Value> {
  get(key: Key): Promise<Value>;
}

export interface LastKnownLimits {
  freshMs: number;
  servesMs: number;
  /** A read that takes longer counts as failed. */
  loadTimeoutMs: number;
  /** After a failed read the last value is served without asking again for this long. */
  retryAfterMs: number;
  maxEntries: number;
}

interface Entry<Value> {
  value: Value;
  readAt: number;
  askAgainAt: number;
}

export function makeLastKnown<Key, Value>(
  load: (key: Key) => Promise<Value>,
  limits: LastKnownLimits,
  now: () => number = () => performance.now(),
): LastKnown<Key, Value> {
  const entries = new Map<Key, Entry<Value>>();
  const reading = new Map<Key, Promise<Value>>();

  const read = (key: Key): Promise<Value> => {
    const running = reading.get(key);
    if (running) return running;
    const readAt = now();
    const started = within(limits.loadTimeoutMs, load(key))
      .then((value) => {
        entries.delete(key);
        entries.set(key, { value, readAt, askAgainAt: readAt + limits.freshMs / 2 });
        // Maps keep insertion order: the first is the one renewed longest ago.
        if (entries.size > limits.maxEntries) entries.delete(entries.keys().next().value as Key);
        return value;
      })
      .catch((error: unknown) => {
        const entry = entries.get(key);
        if (entry) entry.askAgainAt = now() + limits.retryAfterMs;
        throw error;
      })
      .finally(() => reading.delete(key));
    reading.set(key, started);
    return started;
  };

  return {
    async get(key) {
      const entry = entries.get(key);
      if (!entry) return read(key);
      const at = now();
      const age = at - entry.readAt;
      const mayServe = age <= limits.servesMs;
      if (age <= limits.freshMs) {
        if (at >= entry.askAgainAt) read(key).catch(() => {});
        return entry.value;
      }
      if (mayServe && at < entry.askAgainAt && entry.askAgainAt > entry.readAt + limits.freshMs) return entry.value;
      try {
        return await read(key);
      } catch (error) {
        if (now() - entry.readAt <= limits.servesMs) return entry.value;
        throw error;
      }
    },
  };
}
