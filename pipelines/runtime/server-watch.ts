import type { Socket } from 'node:net';
import type { ClientBase } from 'pg';
import { startRepeating } from './lifecycle.ts';
import type { Logger } from './log.ts';
import { connectionsOf, makePool, type Pool, serverOf } from './postgres.ts';

const lookEveryMs = 500;
/** Limit of the question whether the server still answers. */
const answerTimeoutMs = 2_000;
/** Limit of a new connection of the watch. A busy machine may miss it, and is then asked again. */
const connectTimeoutMs = 1_500;

/**
 * Closes a pool's connections to a server that is no longer behind the address. When a machine is lost, no packet says
 * so: a statement on its way would wait for its whole timeout, and a LISTEN for the operating system, while the next
 * server answers already. Twice a second a connection of its own asks the server which one it is. When it must be made
 * anew and leads to another server, all of the pool's connections to the earlier one are closed, and those that were
 * begun before and are not made yet. Their statements fail as those of a server that went away, and whoever sent them
 * decides about a repeat. That is at most 2 s after the address leads to the next server, and 4 s if it did so at once.
 *
 * Returns a function that ends the watch.
 */
export function watchServer(pool: Pool, databaseUrl: string, name: string, log: Logger): () => Promise<void> {
  const watch = makePool(databaseUrl, `${name}-watch`, 1, answerTimeoutMs, connectTimeoutMs);
  let known: string | undefined;
  const stop = startRepeating('watch of PostgreSQL', lookEveryMs, log, async () => {
    const askedAt = performance.now();
    // While no server answers, the pool's own timeouts count, and there is no other server to turn to.
    const server = await askServer(watch).catch(() => undefined);
    if (server === undefined) return;
    const hasMoved = known !== undefined && server !== known;
    known = server;
    const lost = connectionsOf(pool).filter((client) => {
      const own = serverOf(client);
      return own === undefined ? hasMoved && client.beganAt < askedAt : own !== server;
    });
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
function cut(client: ClientBase): void {
  (client as ClientBase & { connection: { stream: Socket } }).connection.stream.destroy();
}
