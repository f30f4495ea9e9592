import type { Socket } from 'node:net';
import { startRepeating } from './lifecycle.ts';
import type { Logger } from './log.ts';
import { makePool, type Pool, type PoolClient, serverOf } from './postgres.ts';

const lookEveryMs = 1_000;
/** Limit of the question whether the server still answers. */
const answerTimeoutMs = 2_000;
const connectTimeoutMs = 3_000;

/**
 * Closes a pool's connections to a server that is no longer behind the address. When a machine is lost, no packet says
 * so: a statement on its way would wait for its whole timeout, and a LISTEN for the operating system, while the next
 * server answers already. Once a second a connection of its own asks the server which one it is. When it must be made
 * anew and leads to another server, all of the pool's connections to the earlier one are closed. Their statements fail
 * as those of a server that went away, and whoever sent them decides about a repeat. That takes at most 7 s.
 *
 * Call it before the pool makes its first connection. Returns a function that ends the watch.
 */
export function watchServer(pool: Pool, databaseUrl: string, name: string, log: Logger): () => Promise<void> {
  const watch = makePool(databaseUrl, `${name}-watch`, 1, answerTimeoutMs, connectTimeoutMs);
  const clients = new Set<PoolClient>();
  pool.on('connect', (client) => clients.add(client));
  pool.on('remove', (client) => clients.delete(client));
  const stop = startRepeating('watch of PostgreSQL', lookEveryMs, log, async () => {
    // While no server answers, the pool's own timeouts count, and there is no other server to turn to.
    const server = await askServer(watch).catch(() => undefined);
    if (server === undefined) return;
    const lost = [...clients].filter((client) => serverOf(client) !== server);
    for (const client of lost) cut(client);
    if (lost.length > 0)
      log.warn({ connections: lost.length }, 'another PostgreSQL server answers: connections closed');
  });
  return async () => {
    await stop();
    await watch.end();
  };
}

async function askServer(watch: Pool): Promise<string | undefined> {
  const client = await watch.connect();
  // A connection that breaks between two statements reports it by this event alone.
  const ignore = () => {};
  client.on('error', ignore);
  let failure: Error | undefined;
  try {
    await client.query({ text: 'SELECT 1', query_timeout: answerTimeoutMs } as { text: string });
    return serverOf(client);
  } catch (error) {
    failure = error as Error;
    throw error;
  } finally {
    client.off('error', ignore);
    client.release(failure);
  }
}

/** Closes the socket at once. The client's own `end` would wait for the lost server. */
function cut(client: PoolClient): void {
  (client as PoolClient & { connection: { stream: Socket } }).connection.stream.destroy();
}
