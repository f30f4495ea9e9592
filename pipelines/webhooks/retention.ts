import type { Logger } from '../runtime/log.ts';
import { inTransaction, type Pool, type PoolClient } from '../runtime/postgres.ts';
import { discardHeldByPlan } from './pauses.ts';

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

export interface RetentionRule {
  /** Whole months that events and their deliveries are kept, counted from the detection day. */
  eventMonths: number;
  /** Days that attempts are kept, counted from their start. */
  attemptDays: number;
  /** Days that a delivery is held for an account whose plan does not watch any more. */
  heldDays: number;
}

export const defaultRetentionRule: RetentionRule = { eventMonths: 13, attemptDays: 90, heldDays: 30 };

export interface Removed {
  /** Detection days whose events and deliveries went as a whole. */
  days: string[];
  /** Days past the time that still hold deliveries to be sent: everything else of them went. */
  keptDays: string[];
  /** Days whose attempts went. */
  attemptDays: string[];
  notices: number;
  /** Deliveries given up that were held for an account without the plan. */
  discarded: number;
}

/**
 * How long each lock is waited for, and so how long others wait behind it; then the day is left to the next run. Three of
 * them stay below PostgreSQL's deadlock_timeout (1 s): of two that wait for each other it is always this one that gives up.
 */
const lockTimeoutMs = 200;

/**
 * Removes what is past its time, a day's partition at once. A delivery that may still be sent (pending, under way, held)
 * keeps itself and its event, however old. Repeatable, each day for itself: dying between two days leaves the rest to
 * the next run.
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

/** Days of the parent's partitions that ended longer ago than `age`, oldest first. */
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

/** null: another process is at it or removed the day, somebody held a lock for too long, or both waited for each other. Nothing was changed. */
async function underLockTimeout<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result | null> {
  try {
    return await inTransaction(pool, async (client) => {
      // Of two workers at the same day each would keep the other from its lock.
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
/** lock_not_available, deadlock_detected, undefined_table. */
const leftToOthers: ReadonlySet<string> = new Set(['55P03', '40P01', '42P01']);

const open = `estado IN ('pendiente', 'en_curso', 'retenida')`;

async function removeDay(client: PoolClient, day: string): Promise<'removed' | 'kept'> {
  const [event, delivery, attempt] = tablesOf(day);
  const isHeld = async () => (await client.query(`SELECT FROM ${delivery} WHERE ${open} LIMIT 1`)).rowCount !== 0;
  if (await isHeld()) {
    await trimDay(client, day);
    return 'kept';
  }
  // The parents first, as every statement does; dropping a partition takes them anyway.
  await client.query(`LOCK TABLE ONLY event, ONLY delivery, ONLY attempt, ${delivery} IN ACCESS EXCLUSIVE MODE`);
  // One was sent again by hand before the lock: the next run trims.
  if (await isHeld()) return 'kept';
  await noteRemoved(client, `SELECT account_id, position FROM ${event}`);
  await client.query(`DROP TABLE ${attempt}, ${delivery}, ${event}`);
  return 'removed';
}

/** Removes all of a day but what may still be sent. */
async function trimDay(client: PoolClient, day: string): Promise<void> {
  const [event, delivery, attempt] = tablesOf(day);
  // Readers go on; nobody sends one again while it is decided which ones stay.
  await client.query(`LOCK TABLE ${delivery} IN SHARE ROW EXCLUSIVE MODE`);
  const held = (column: string) => `SELECT ${column} FROM ${delivery} WHERE ${open}`;
  await noteRemoved(
    client,
    `DELETE FROM ${event} WHERE id NOT IN (${held('event_id')}) RETURNING account_id, position`,
  );
  await client.query(`DELETE FROM ${attempt} WHERE delivery_id NOT IN (${held('id')})`);
  await client.query(`DELETE FROM ${delivery} WHERE NOT (${open})`);
}

/** In the transaction that removes the events: a reader whose cursor is older must be told, not given a gap. */
async function noteRemoved(client: PoolClient, eventsThatGo: string): Promise<void> {
  await client.query(
    `WITH gone AS (${eventsThatGo})
     UPDATE account_position p SET removed_through = GREATEST(p.removed_through, g.position)
     FROM (SELECT account_id, max(position) AS position FROM gone GROUP BY account_id) AS g
     WHERE p.account_id = g.account_id`,
  );
}

/**
 * Empties the partition and leaves it: a delivery of that day that is held or sent again writes its attempts there. One
 * attempt within the time keeps the day's until it is past it too. False: nothing to do.
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

/** Names as ensure_event_day gives them. A day is digits and dashes, from the catalogue of PostgreSQL itself. */
function tablesOf(day: string): [event: string, delivery: string, attempt: string] {
  const suffix = day.replaceAll('-', '');
  if (!/^[0-9]{8}$/.test(suffix)) throw new RangeError('a partition has no day');
  return [`event_${suffix}`, `delivery_${suffix}`, `attempt_${suffix}`];
}

/**
 * The oldest cursor that still shows everything after it: of a cursor before it, events may be gone, and the reader is told so
 * (410 cursor_vencido). A reader without a cursor starts with the oldest event there is. 0: nothing was removed yet.
 */
export async function oldestCursor(pool: Pool, accountId: number): Promise<number> {
  const { rows } = await pool.query<{ removed_through: number }>(
    'SELECT removed_through FROM account_position WHERE account_id = $1',
    [accountId],
  );
  return rows[0]?.removed_through ?? 0;
}
