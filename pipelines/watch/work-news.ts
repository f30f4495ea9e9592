import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../runtime/log.ts';
import type { Pool, PoolClient } from '../runtime/postgres.ts';

/** Where raiseWork (work.ts) says that a webhook that somebody works on got more work. */
export const workChannel = 'delivery_work';

/** Where the writers of events (events.ts) say which account has new ones. */
export const eventChannel = 'account_events';

/** Tells whoever works on a webhook that there is more to do. A hint and never a promise: who listens still looks again. */
export interface WorkNews {
  /** Calls `onNews` at every hint for the webhook, or account, until the returned function is called. */
  listen: (about: string, onNews: () => void) => () => void;
  stop: () => Promise<void>;
}

const reconnectAfterMs = 1_000;

/**
 * Listens on one connection of the pool, however many want to hear. While that connection is away hints are
 * lost; when it is back everybody is told to look, and in between they find news as they would without hints.
 */
export function listenForNews(pool: Pool, channel: string, log: Logger): WorkNews {
  const listeners = new Map<string, Set<() => void>>();
  const stopping = new AbortController();
  const running = keepListening();

  async function keepListening(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await listenOnce(pool, channel, stopping.signal, tell, tellAll);
      } catch (error) {
        log.warn({ err: error, channel }, 'hints of news are away; who wants them looks by itself');
        await sleep(reconnectAfterMs, undefined, { signal: stopping.signal }).catch(() => {});
      }
    }
  }
  function tell(webhookId: string): void {
    for (const onNews of listeners.get(webhookId) ?? []) onNews();
  }
  function tellAll(): void {
    for (const webhookId of listeners.keys()) tell(webhookId);
  }
  return {
    listen: (webhookId, onNews) => {
      const ofWebhook = listeners.get(webhookId) ?? new Set();
      listeners.set(webhookId, ofWebhook.add(onNews));
      return () => {
        ofWebhook.delete(onNews);
        if (ofWebhook.size === 0 && listeners.get(webhookId) === ofWebhook) listeners.delete(webhookId);
      };
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

/** Resolves when told to stop, rejects when the connection is lost. */
async function listenOnce(
  pool: Pool,
  channel: string,
  stop: AbortSignal,
  tell: (webhookId: string) => void,
  tellAll: () => void,
): Promise<void> {
  const client: PoolClient = await pool.connect();
  try {
    const ended = new Promise<never>((_, reject) => {
      client.once('error', reject);
      client.once('end', () => reject(new Error('the connection ended')));
    });
    ended.catch(() => {});
    const stopped = new Promise<void>((resolve) => {
      if (stop.aborted) resolve();
      else stop.addEventListener('abort', () => resolve(), { once: true });
    });
    client.on('notification', ({ payload }) => tell(payload ?? ''));
    await client.query(`LISTEN ${channel}`);
    tellAll();
    await Promise.race([stopped, ended]);
  } finally {
    // Never back into the pool: another user would go on hearing.
    client.removeAllListeners('notification');
    client.release(true);
  }
}
