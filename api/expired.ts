import { startRepeating } from '../pipelines/runtime/lifecycle.ts';
import type { Logger } from '../pipelines/runtime/log.ts';
import type { Pool } from '../pipelines/runtime/postgres.ts';

/**
 * Largest number of rows that one round removes from each table. This limit keeps each statement short. Rows beyond it
 * are left for the next round.
 */
const maxRowsPerTable = 1_000;

const tables = [
  { table: 'idempotent_answer', until: 'held_until' },
  { table: 'supplier_check', until: 'kept_until' },
  { table: 'console_session', until: 'ends_at' },
  { table: 'console_link', until: 'expires_at' },
  // The use per day is shown for this month and the last. The rest is kept for questions about a bill.
  { table: 'quota_day', until: 'day', keptFor: '400 days' },
  { table: 'operator_session', until: 'ends_at' },
  { table: 'operator_link', until: 'expires_at' },
] as const;

/**
 * Settles the units that processes of the previous release took in advance, as leases in the table quota_lease. The
 * units that a lapsed lease spent are added to the month's use or subtracted from the prepaid units. A process may
 * report its spending for ten minutes after a lease lapsed, so younger leases are left alone. The release that drops
 * the table must remove this statement.
 */
const addUpLapsedLeases = `SELECT add_up_quota_leases(now() - interval '10 minutes')`;

/**
 * Removes answers that are no longer served, sessions and links that have ended, and old use per day. Several processes
 * may call this at the same time and share the rows.
 */
export async function removeExpired(pool: Pool): Promise<number> {
  let removed = 0;
  for (const { table, until, ...more } of tables) {
    const keptFor = 'keptFor' in more ? more.keptFor : '0';
    const { rowCount } = await pool.query(
      `DELETE FROM ${table} WHERE ctid IN (
         SELECT ctid FROM ${table} WHERE ${until} < now() - interval '${keptFor}' ORDER BY ${until} LIMIT ${maxRowsPerTable} FOR UPDATE SKIP LOCKED)`,
    );
    removed += rowCount ?? 0;
  }
  return removed;
}

/**
 * Every `everyMs`, runs the statement `addUpLapsedLeases` and removes expired answers. A failed round is logged.
 * @returns a function that stops the rounds
 */
export function startRemovingExpired(pool: Pool, everyMs: number, log: Logger): () => Promise<void> {
  return startRepeating('expired answers', everyMs, log, async () => {
    await pool.query(addUpLapsedLeases);
    const removed = await removeExpired(pool);
    if (removed > 0) log.info({ removed }, 'expired answers removed');
  });
}
