import {
  Client,
  type ClientBase,
  type ClientConfig,
  Pool,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  types,
} from 'pg';
import type { EngineCheck } from './engines/check.ts';
import { connectionOf, databaseAddress } from './engines/database-url.ts';
import { shownAddress } from './engines/failure.ts';

export type { Pool, PoolClient };

/** A pool or one connection, for functions that run one statement inside or outside a transaction. */
export type Queryable = Pick<Pool | PoolClient, 'query'>;

// bigint columns become numbers, because they hold ids, counts and offsets far below 2^53. Dates stay text
// (YYYY-MM-DD). A Date object would be midnight in the time zone of this process. In UTC, that can be another day.
types.setTypeParser(types.builtins.INT8, (text) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError('a bigint of the database does not fit a safe integer');
  return value;
});
types.setTypeParser(types.builtins.DATE, (text) => text);

const statementTimeoutMs = 60_000;
/** If a statement has not ended this long after its timeout, the server hangs, and the client closes the connection. */
const silenceMs = 5_000;

/** Limit of the wait for a free connection, and of the making of a new one. */
const connectTimeoutMs = 5_000;
/**
 * An idle connection is probed after this time, then each second, and given up after ten probes without an answer (Node
 * sets the last two). Without it Linux begins after two hours, and a LISTEN on a lost machine would wait so long.
 */
const keepAliveAfterMs = 5_000;

/**
 * A connection that reads its TLS files when it is made. A pool makes connections in the background too, where an error
 * of the constructor would end the process. So a file that cannot be read fails the connection instead.
 */
class FileClient extends Client {
  /** When this connection was begun, in milliseconds of performance.now(). */
  readonly beganAt = performance.now();
  readonly #unreadable: Error | undefined;

  constructor(config: ClientConfig & { connectionString: string; clients: Set<FileClient> }) {
    let connection: ClientConfig = { connectionString: databaseAddress(config.connectionString).url };
    let unreadable: Error | undefined;
    try {
      connection = connectionOf(config.connectionString);
    } catch (error) {
      unreadable = error as Error;
    }
    super({ ...config, ...connection });
    this.#unreadable = unreadable;
    if (unreadable !== undefined) return;
    config.clients.add(this);
    this.once('end', () => config.clients.delete(this));
  }

  override connect(): Promise<Client>;
  override connect(callback: ((err: Error) => void) | ((err: null, client: Client) => void)): void;
  override connect(
    callback?: ((err: Error) => void) | ((err: null, client: Client) => void),
  ): Promise<Client> | undefined {
    const unreadable = this.#unreadable;
    if (callback === undefined) return unreadable === undefined ? super.connect() : Promise.reject(unreadable);
    if (unreadable === undefined) super.connect(callback);
    else process.nextTick(callback as (err: Error) => void, unreadable);
    return undefined;
  }
}

/** Asks for the server's version. */
export function databaseCheck(databaseUrl: string, pool: Pool): EngineCheck {
  return {
    engine: 'PostgreSQL',
    address: shownAddress(databaseUrl),
    async ask() {
      const { rows } = await pool.query<{ server_version: string }>('SHOW server_version');
      return rows[0]?.server_version ?? null;
    },
  };
}

/**
 * Makes a connection pool that sets every default that we rely on.
 * @param timeoutMs limit of one statement
 */
export function makePool(
  databaseUrl: string,
  name: string,
  size: number,
  timeoutMs = statementTimeoutMs,
  connectMs = connectTimeoutMs,
): Pool {
  const clients = new Set<FileClient>();
  const pool = new Pool({
    connectionString: databaseUrl,
    // The pool passes its options on to its clients.
    ...{ clients },
    // pg's types say that a client takes no arguments.
    Client: FileClient as unknown as NonNullable<PoolConfig['Client']>,
    application_name: name,
    max: size,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 30_000,
    // A session caches plans and facts about tables. This cache grows with every day whose deliveries have plans of
    // their own (webhooks/claim.ts), so a session ends after an hour.
    maxLifetimeSeconds: 3_600,
    statement_timeout: timeoutMs,
    query_timeout: timeoutMs + silenceMs,
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    onConnect: (client) => requireWritable(client, connectMs),
  });
  clientsOfPools.set(pool, clients);
  // When the server closes an idle connection, the pool replaces it and emits `error`. Without a listener, that event
  // would end the process.
  pool.on('error', () => {});
  // The same for a connection that the pool has just handed over: the server's last message may come in one packet with
  // the answer to the statement before, and then before the new user could listen.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** PostgreSQL's own code for a write on a server that only reads. */
const readOnlyCode = '25006';

/** The address leads to a server that only reads. This passes when the server is promoted or the address is moved. */
class ReadOnlyServer extends Error {
  override name = 'ReadOnlyServer';
  readonly code = readOnlyCode;
  constructor() {
    super(
      'PostgreSQL at this address only reads: it is a standby or was made read-only; DATABASE_URL must be the primary',
    );
  }
}

const servers = new WeakMap<object, string>();
const clientsOfPools = new WeakMap<Pool, ReadonlySet<FileClient>>();

/** All connections of a pool of `makePool`, also those that are still being made. */
export function connectionsOf(pool: Pool): readonly (ClientBase & { beganAt: number })[] {
  return [...(clientsOfPools.get(pool) ?? [])];
}

/**
 * Which server a connection leads to: when that server was started, to the microsecond. Undefined while the connection
 * is being made.
 */
export function serverOf(client: ClientBase): string | undefined {
  return servers.get(client);
}

/**
 * Refuses a server that only reads. During a failover the address may lead to a standby that is not promoted yet. A
 * process that kept such a connection could read rows that are older than what it wrote before.
 */
async function requireWritable(client: ClientBase, timeoutMs: number): Promise<void> {
  const { rows } = await client.query<{ server: string; readsOnly: boolean }>({
    text: `SELECT extract(epoch FROM pg_postmaster_start_time())::text AS server,
             pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS "readsOnly"`,
    query_timeout: timeoutMs,
  } as QueryConfig);
  if (rows[0]!.readsOnly) throw new ReadOnlyServer();
  servers.set(client, rows[0]!.server);
}

export async function inTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // Only the event `error` reports a connection that breaks between two queries. Without a listener, the error would
  // end the process.
  const noteBroken = (error: Error) => {
    broken = error;
  };
  client.on('error', noteBroken);
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    // If the server hangs, it would not answer a ROLLBACK either. If it only reads now, the address may lead to another.
    if (isSilence(error) || isReadOnly(error)) broken = error as Error;
    else await client.query('ROLLBACK').catch(noteBroken);
    throw error;
  } finally {
    client.off('error', noteBroken);
    client.release(broken);
  }
}

function isReadOnly(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === readOnlyCode;
}

/** Whether the client stopped waiting for a statement. Its outcome is then unknown, and its connection is unusable. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/**
 * Locks the account's row until the transaction ends. Otherwise two calls could both pass the check of one of the
 * account's limits and exceed the limit together. FOR UPDATE would also block writers of rows that only point to the
 * account, such as events.
 */
export async function lockAccount(client: PoolClient, accountId: number): Promise<void> {
  await client.query('SELECT 1 FROM account WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
}
