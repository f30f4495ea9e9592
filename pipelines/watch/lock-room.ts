import type { Logger } from '../runtime/log.ts';
import type { Pool } from '../runtime/postgres.ts';

/**
 * How many locks PostgreSQL should have room for, max_connections × max_locks_per_transaction. A statement about a webhook or an
 * account looks into the partition of every day, each with its indexes: after 13 months it holds some 3,000 locks, and one
 * that is planned for the first time 7,000. Thirty connections at once were refused nothing with this, and more than half of
 * their statements with the 6,400 of PostgreSQL's defaults.
 */
const leastLocks = 100_000;

/** Says so, long before the days are there, where the server would refuse statements as "out of shared memory". */
export async function warnOfFewLocks(pool: Pool, log: Logger, least = leastLocks): Promise<void> {
  const { rows } = await pool.query<{ locks: number; connections: number }>(
    `SELECT current_setting('max_connections')::integer * current_setting('max_locks_per_transaction')::integer AS locks,
       current_setting('max_connections')::integer AS connections`,
  );
  const { locks, connections } = rows[0]!;
  if (locks >= least) return;
  log.warn(
    { locks, leastLocks: least, maxLocksPerTransaction: Math.ceil(least / connections) },
    'PostgreSQL has room for too few locks: set max_locks_per_transaction to maxLocksPerTransaction or more, and restart it',
  );
}
