import type { Logger } from '../runtime/log.ts';
import { inTransaction, type Pool, type PoolClient } from '../runtime/postgres.ts';
import { discardHeldByPlan } from './pauses.ts';

/**
 * The number of locks that PostgreSQL should have room for: max_connections × max_locks_per_transaction. A statement
 * about a webhook or an account locks the partitions of all days and their indexes. After 13 months, the statement
 * takes some 3,000 locks, or 7,000 when it is planned for the first time. We measured thirty connections at once. With
 * room for 100,000 locks, no statement was refused. With PostgreSQL's defaults (100 × 64 = 6,400), more than half were
 * refused.
 */
const leastLocks = 100_000;

/**
 * Warns if PostgreSQL has fewer than `least` lock slots. The warning comes months before PostgreSQL refuses statements
 * for want of locks ("out of shared memory").
 */
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

export interface RetentionRule {
  /** Whole months for which events and their deliveries are kept, counted from the detection day. */
  eventMonths: number;
  attemptDays: number;
  /** Days after which a held delivery is discarded if the plan of its account no longer includes watching. */
  heldDays: number;
}

export const defaultRetentionRule: RetentionRule = { eventMonths: 13, attemptDays: 90, heldDays: 30 };

export interface Removed {
  /** Detection days of which all events and deliveries were removed. */
  days: string[];
  /**
   * Expired days with deliveries that may still be sent. Everything else of these days was removed, or the next run
   * removes it.
   */
  keptDays: string[];
  attemptDays: string[];
  notices: number;
  /** Number of held deliveries that were discarded because the account's plan does not include watching. */
  discarded: number;
}

/**
 * The longest wait for a lock on a table. Other transactions that need the table wait behind the removal for this time
 * at most. If a lock is not free in time, the next run removes the day. `removeDay` takes four locks, so it waits at
 * most 3 × 200 ms = 600 ms while it holds the first. PostgreSQL looks for deadlocks after 1 s (deadlock_timeout). So in
 * a deadlock the removal gives up first, and no other transaction fails.
 */
const lockTimeoutMs = 200;

/**
 * Removes expired rows, one day's partition at a time. A delivery that may still be sent (pending, in flight or held)
 * is kept with its event, however old it is. Each day is a transaction of its own. If the process dies, the next run
 * removes the remaining days.
 */
export async function removeExpired(pool: Pool, rule: RetentionRule, stop?: AbortSignal): Promise<Removed> {
  const removed: Removed = { days: [], keptDays: [], attemptDays: [], notices: 0, discarded: 0 };
  removed.discarded = await discardHeldByPlan(pool, rule.heldDays, stop);
  for (const day of await daysPast(pool, 'event', `${rule.eventMonths} months`)) {
    if (stop?.aborted) return removed;
    const outcome = await underLockTimeout(pool, (client) => removeDay(client, day));
    if (outcome === 'removed') removed.days.push(day);
    if (outcome === 'kept') removed.keptDays.push(day);
  }
  for (const day of await daysPast(pool, 'attempt', `${rule.attemptDays} days`)) {
    if (stop?.aborted) return removed;
    const emptied = await underLockTimeout(pool, (client) => emptyAttempts(client, day, rule.attemptDays));
    if (emptied === true) removed.attemptDays.push(day);
  }
  const notices = await pool.query('DELETE FROM notice WHERE at < now() - make_interval(months => $1)', [
    rule.eventMonths,
  ]);
  return { ...removed, notices: notices.rowCount ?? 0 };
}

/** Returns the days of the parent table's partitions that ended longer ago than `age`, oldest first. */
async function daysPast(pool: Pool, parent: 'event' | 'attempt', age: string): Promise<string[]> {
  const { rows } = await pool.query<{ day: string }>(
    `SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS day FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = $1::regclass AND c.relname ~ '_[0-9]{8}$'
       AND to_date(right(c.relname, 8), 'YYYYMMDD') < (now() AT TIME ZONE 'America/Lima' - $2::interval)::date
     ORDER BY 1`,
    [parent, age],
  );
  return rows.map(({ day }) => day);
}

/**
 * Runs `work` in a transaction that waits at most `lockTimeoutMs` for each lock. Returns null and changes nothing if
 * another process removes days now, or after an error of `leftToOthers`.
 */
async function underLockTimeout<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result | null> {
  try {
    return await inTransaction(pool, async (client) => {
      // Without this lock, two workers could both read a day's table and then both lock it. Each would wait for the
      // other's read lock: a deadlock.
      const turn = await client.query<{ ours: boolean }>(
        `SELECT pg_try_advisory_xact_lock(hashtext('watch_retention')) AS ours`,
      );
      if (!turn.rows[0]!.ours) return null;
      await client.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
      return work(client);
    });
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== undefined && leftToOthers.has(code)) return null;
    throw error;
  }
}
/** PostgreSQL errors that leave the day to the next run: lock_not_available, deadlock_detected, undefined_table. */
const leftToOthers: ReadonlySet<string> = new Set(['55P03', '40P01', '42P01']);

const open = `estado IN ('pendiente', 'en_curso', 'retenida')`;

async function removeDay(client: PoolClient, day: string): Promise<'removed' | 'kept'> {
  const [event, delivery, attempt] = tablesOf(day);
  const isHeld = async () => (await client.query(`SELECT FROM ${delivery} WHERE ${open} LIMIT 1`)).rowCount !== 0;
  if (await isHeld()) {
    await trimDay(client, day);
    return 'kept';
  }
  // The parent tables are locked first, because every other statement does so too. DROP TABLE alone would lock them
  // last, and two transactions could deadlock.
  await client.query(`LOCK TABLE ONLY event, ONLY delivery, ONLY attempt, ${delivery} IN ACCESS EXCLUSIVE MODE`);
  // Somebody may have sent a delivery again by hand before the lock was taken. The day then has a delivery that may
  // still be sent, so the next run trims the day.
  if (await isHeld()) return 'kept';
  await noteRemoved(client, `SELECT account_id, position FROM ${event}`);
  await client.query(`DROP TABLE ${attempt}, ${delivery}, ${event}`);
  return 'removed';
}

/** Removes all rows of a day except deliveries that may still be sent, their events and their attempts. */
async function trimDay(client: PoolClient, day: string): Promise<void> {
  const [event, delivery, attempt] = tablesOf(day);
  // Others may still read, but nobody can send a delivery again by hand before this transaction ends.
  await client.query(`LOCK TABLE ${delivery} IN SHARE ROW EXCLUSIVE MODE`);
  const held = (column: string) => `SELECT ${column} FROM ${delivery} WHERE ${open}`;
  await noteRemoved(
    client,
    `DELETE FROM ${event} WHERE id NOT IN (${held('event_id')}) RETURNING account_id, position`,
  );
  await client.query(`DELETE FROM ${attempt} WHERE delivery_id NOT IN (${held('id')})`);
  await client.query(`DELETE FROM ${delivery} WHERE NOT (${open})`);
}

/**
 * Records per account the position of the last removed event, in the transaction that removes the event. A reader with
 * a lower cursor then gets an error (`oldestCursor`). Otherwise the reader would not notice the gap.
 * @param eventsThatGo SQL that returns account_id and position of the removed events
 */
async function noteRemoved(client: PoolClient, eventsThatGo: string): Promise<void> {
  await client.query(
    `WITH gone AS (${eventsThatGo})
     UPDATE account_position p SET removed_through = GREATEST(p.removed_through, g.position)
     FROM (SELECT account_id, max(position) AS position FROM gone GROUP BY account_id) AS g
     WHERE p.account_id = g.account_id`,
  );
}

/**
 * Empties the day's partition of attempts once all its attempts have expired. The table stays, because a held delivery
 * of the day may still be sent and then writes attempts there. Returns false if nothing was removed.
 */
async function emptyAttempts(client: PoolClient, day: string, attemptDays: number): Promise<boolean> {
  const [, , attempt] = tablesOf(day);
  await client.query(`LOCK TABLE ${attempt} IN ACCESS EXCLUSIVE MODE`);
  const { rows } = await client.query<{ expired: boolean | null }>(
    `SELECT max(started_at) < now() - make_interval(days => $1) AS expired FROM ${attempt}`,
    [attemptDays],
  );
  if (rows[0]?.expired !== true) return false;
  await client.query(`TRUNCATE ${attempt}`);
  return true;
}

/**
 * Returns the names that the SQL function ensure_event_day gives to a day's tables. The names become part of SQL texts,
 * so `day` must come from PostgreSQL's own catalogue, and its form is checked.
 */
function tablesOf(day: string): [event: string, delivery: string, attempt: string] {
  const suffix = day.replaceAll('-', '');
  if (!/^[0-9]{8}$/.test(suffix)) throw new RangeError('a partition has no day');
  return [`event_${suffix}`, `delivery_${suffix}`, `attempt_${suffix}`];
}

/**
 * Returns the lowest cursor whose later events are all still stored, or 0 if no event was ever removed. The API refuses
 * a lower cursor with 410 cursor_vencido. A reader without a cursor starts with the oldest event that is left.
 */
export async function oldestCursor(pool: Pool, accountId: number): Promise<number> {
  const { rows } = await pool.query<{ removed_through: number }>(
    'SELECT removed_through FROM account_position WHERE account_id = $1',
    [accountId],
  );
  return rows[0]?.removed_through ?? 0;
}
