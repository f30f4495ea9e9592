import { Pool, type PoolClient, types } from 'pg';

export type { Pool, PoolClient };

/** For functions that run one statement, inside a transaction or outside one. */
export type Queryable = Pick<Pool | PoolClient, 'query'>;

// bigint columns hold ids, counts and offsets far below 2^53; dates stay text (YYYY-MM-DD), never a local midnight.
types.setTypeParser(types.builtins.INT8, (text) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError('a bigint of the database does not fit a safe integer');
  return value;
});
types.setTypeParser(types.builtins.DATE, (text) => text);

const statementTimeoutMs = 60_000;
/** So much later than the server should have ended a statement, the client gives it up, and the connection with it: the server hangs. */
const silenceMs = 5_000;

/**
 * A connection pool with every default we rely on set. Times are UTC on the wire.
 * @param timeoutMs of a statement
 */
export function makePool(databaseUrl: string, name: string, size: number, timeoutMs = statementTimeoutMs): Pool {
  const pool = new Pool({
    connectionString: databaseUrl,
    application_name: name,
    max: size,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 30_000,
    // What a session keeps (plans, facts of tables) goes with it: there are more partitions every day.
    maxLifetimeSeconds: 3_600,
    statement_timeout: timeoutMs,
    query_timeout: timeoutMs + silenceMs,
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
  });
  // An idle connection that the server closed is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => {});
  return pool;
}

/** Runs `work` in one transaction: all of it or nothing, whatever dies between. */
export async function inTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A connection that breaks between two queries says so here alone; without a listener it would end the process.
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
    // A server that hangs would not answer to this either.
    if (isSilence(error)) broken = error as Error;
    else await client.query('ROLLBACK').catch(noteBroken);
    throw error;
  } finally {
    client.off('error', noteBroken);
    client.release(broken);
  }
}

/** The client gave a statement up: nothing is known of it, and its connection is good for nothing more. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/**
 * Locks the account's row until the transaction ends, so that one call at a time counts a limit and uses it. The lock is
 * weaker than FOR UPDATE: rows that only point to the account, such as events, can still be written meanwhile.
 */
export async function lockAccount(client: PoolClient, accountId: number): Promise<void> {
  await client.query('SELECT 1 FROM account WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
}
