import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from './log.ts';
import type { Pool } from './postgres.ts';

const retryMs = 1_000;

/**
 * Receives PostgreSQL notifications (LISTEN) over one connection of the pool. A broken connection is made again.
 * Notifications are lost meanwhile, so every listener must also find its work without notifications.
 */
export class Notifications {
  readonly #pool: Pool;
  readonly #channels: readonly string[];
  readonly #log: Logger;
  /** Names of this emitter's events are a channel alone, or a channel and a payload with a slash between them. */
  readonly #listeners = new EventEmitter().setMaxListeners(0);
  readonly #stopping = new AbortController();
  readonly #stopped = new Promise<void>((resolve) => {
    this.#stopping.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  #running: Promise<void> = Promise.resolve();
  /** Whether the present loss of the connection is logged. */
  #isLogged = false;

  /** @param channels names that this code chose, because they go into the SQL statement unchanged */
  constructor(pool: Pool, channels: readonly string[], log: Logger) {
    this.#pool = pool;
    this.#channels = channels;
    this.#log = log;
  }

  /**
   * Calls `onNotified` for every notification with this payload, and each time the connection is made. Notifications
   * may have been lost before the connection was made. Returns a function that ends the calls.
   */
  listen(channel: string, payload: string, onNotified: () => void): () => void {
    const name = `${channel}/${payload}`;
    this.#listeners.on(name, onNotified);
    return () => void this.#listeners.off(name, onNotified);
  }

  listenToAll(channel: string, onNotified: (payload: string) => void): void {
    this.#listeners.on(channel, onNotified);
  }

  start(): void {
    this.#running = this.#keepListening();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #keepListening(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#listenUntilLost();
      } catch (error) {
        const fields = { err: error, channels: this.#channels };
        if (!this.#isLogged) this.#log.warn(fields, 'notifications of PostgreSQL are away');
        this.#isLogged = true;
        await sleep(retryMs, undefined, { signal }).catch(() => {});
      }
    }
  }

  /** Resolves when this object is stopped. Rejects when the connection cannot be made or is lost. */
  async #listenUntilLost(): Promise<void> {
    const client = await this.#pool.connect();
    try {
      const lost = new Promise<never>((_, reject) => {
        client.on('error', reject);
        client.once('end', () => reject(new Error('the connection ended')));
      });
      lost.catch(() => {});
      client.on('notification', ({ channel, payload = '' }) => {
        this.#listeners.emit(channel, payload);
        this.#listeners.emit(`${channel}/${payload}`);
      });
      const listening = client.query(this.#channels.map((channel) => `LISTEN ${channel}`).join('; ')).then(() => {
        this.#isLogged = false;
        for (const name of this.#listeners.eventNames()) if (String(name).includes('/')) this.#listeners.emit(name);
        return lost;
      });
      await Promise.race([listening, lost, this.#stopped]);
    } finally {
      // The connection is closed and not given back to the pool: its next user would still receive notifications.
      client.removeAllListeners('notification');
      client.release(true);
    }
  }
}
