import type { Logger } from '../runtime/log.ts';
import { inTransaction, type Pool, type PoolClient } from '../runtime/postgres.ts';
import { discardHeldByPlan } from './pauses.ts';

/**
 * The number of locks that PostgreSQL should have room for (max_connections × max_locks_per_transaction), per partition
 * of `delivery`. A statement about a webhook or an account locks all partitions and their indexes. With 395 partitions,
 * the statement takes some 3,000 locks, or 7,000 when it is planned for the first time. We measured thirty connections
 * at once: with room for 100,000 locks (253 per partition), no statement was refused. With PostgreSQL's defaults
 * (100 × 64 = 6,400), more than half were refused.
 */
const locksPerPartition = 250;

/**
 * Warns if PostgreSQL has fewer lock slots than its partitions need now, or will need when events of `months` months
 * are kept in a partition each. PostgreSQL with too few slots refuses statements ("out of shared memory").
 */
export async function warnOfFewLocks(pool: Pool, log: Logger, months: number, each = locksPerPartition): Promise<void> {
  const { rows } = await pool.query<{ locks: number; connections: number; partitions: number }>(
    `SELECT current_setting('max_connections')::integer * current_setting('max_locks_per_transaction')::integer AS locks,
       current_setting('max_connections')::integer AS connections,
       (SELECT count(*) FROM pg_inherits WHERE inhparent = 'delivery'::regclass) AS partitions`,
  );
  const { locks, connections, partitions } = rows[0]!;
  const leastLocks = each * Math.max(partitions, months + 1);
  if (locks >= leastLocks) return;
  log.warn(
    { locks, leastLocks, maxLocksPerTransaction: Math.ceil(leastLocks / connections) },
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
  /** Detection days of which attempts were removed. */
  attemptDays: string[];
  notices: number;
  /** Number of held deliveries that were discarded because the account's plan does not include watching. */
  discarded: number;
}

/**
 * The longest wait for a lock. Other transactions that need a table wait behind its removal for this time at most. If a
 * lock is not free in time, the next run removes the rest. `dropIfEmpty` takes four locks, so it waits at most
 * 3 × 200 ms = 600 ms while it holds the first. PostgreSQL looks for deadlocks after 1 s (deadlock_timeout). So in
 * a deadlock the removal gives up first, and no other transaction fails.
 */
const lockTimeoutMs = 200;

/**
 * The most rows that one transaction removes from each table. However many rows a day has, each statement then ends
 * long before its timeout of 60 s.
 */
const rowsPerTransaction = 20_000;

/**
 * Removes expired rows day by day, and drops partitions that are past and empty. A delivery that may still be sent
 * (pending, in flight or held) is kept with its event, however old it is. If the process dies, what it committed is
 * gone, and the next run removes the rest.
 */
export async function removeExpired(pool: Pool, rule: RetentionRule, stop?: AbortSignal): Promise<Removed> {
  const removed: Removed = { days: [], keptDays: [], attemptDays: [], notices: 0, discarded: 0 };
  removed.discarded = await discardHeldByPlan(pool, rule.heldDays, stop);
  const eventAge = `${rule.eventMonths} months`;
  for (const day of await daysPast(pool, 'event', eventAge)) {
    const outcome = await inSteps(pool, stop, (client) => trimDay(client, day));
    if (outcome?.isKept === true) removed.keptDays.push(day);
    else if (outcome !== null && outcome.rows > 0) removed.days.push(day);
  }
  for (const suffix of await partitionsPast(pool, eventAge)) {
    if (stop?.aborted !== true) await underLockTimeout(pool, (client) => dropIfEmpty(client, suffix));
  }
  for (const day of await daysPast(pool, 'attempt', `${rule.attemptDays} days`)) {
    const outcome = await inSteps(pool, stop, (client) => removeAttempts(client, day, rule.attemptDays));
    if (outcome !== null && outcome.rows > 0) removed.attemptDays.push(day);
  }
  if (stop?.aborted) return removed;
  const notices = await pool.query('DELETE FROM notice WHERE at < now() - make_interval(months => $1)', [
    rule.eventMonths,
  ]);
  return { ...removed, notices: notices.rowCount ?? 0 };
}

const expiry = `(now() AT TIME ZONE 'America/Lima' - $1::interval)::date`;

/** Returns the days older than `age` of which the table has rows, oldest first. It reads one row per day. */
async function daysPast(pool: Pool, table: 'event' | 'attempt', age: string): Promise<string[]> {
  const { rows } = await pool.query<{ day: string }>(
    `WITH RECURSIVE past AS (
       SELECT min(day) AS day FROM ${table} WHERE day < ${expiry}
       UNION ALL
       SELECT (SELECT min(day) FROM ${table} t WHERE t.day > past.day AND t.day < ${expiry})
       FROM past WHERE day IS NOT NULL)
     SELECT day FROM past WHERE day IS NOT NULL`,
    [age],
  );
  return rows.map(({ day }) => day);
}

/** Returns the suffixes of the partitions of which every day is older than `age`, oldest first. */
async function partitionsPast(pool: Pool, age: string): Promise<string[]> {
  const { rows } = await pool.query<{ suffix: string }>(
    `SELECT substr(partition_name, length('event_') + 1) AS suffix FROM event_partitions('event')
     WHERE end_day <= ${expiry} ORDER BY first_day`,
    [age],
  );
  return rows.map(({ suffix }) => suffix);
}

interface Step {
  /** Number of rows that were removed. */
  rows: number;
  /** True if rows that should go may be left. */
  isUnfinished: boolean;
  /** True if the day has events of deliveries that may still be sent. */
  isKept?: boolean;
}

/** Repeats a step until it is finished. Returns null if it was stopped, or if the rest is left to the next run. */
async function inSteps(
  pool: Pool,
  stop: AbortSignal | undefined,
  work: (client: PoolClient) => Promise<Step>,
): Promise<Step | null> {
  let rows = 0;
  while (stop?.aborted !== true) {
    const step = await underLockTimeout(pool, work);
    if (step === null) return null;
    rows += step.rows;
    if (!step.isUnfinished) return { ...step, rows };
  }
  return null;
}

/**
 * Runs `work` in a transaction that waits at most `lockTimeoutMs` for each lock. Returns null and changes nothing if
 * another process removes rows now, or after an error of `leftToOthers`.
 */
async function underLockTimeout<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result | null> {
  try {
    return await inTransaction(pool, async (client) => {
      // Without this lock, two workers could both read a partition and then both lock it to drop it. Each would wait
      // for the other's read lock: a deadlock.
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
/** PostgreSQL errors that leave the rest to the next run: lock_not_available, deadlock_detected, undefined_table. */
const leftToOthers: ReadonlySet<string> = new Set(['55P03', '40P01', '42P01']);

const open = `estado IN ('pendiente', 'en_curso', 'retenida')`;

/**
 * Removes rows of an expired day, except deliveries that may still be sent, their events and their attempts. If
 * somebody sends a delivery again by hand at this moment, either the delivery is gone before and is not found, or this
 * statement waits for it and then leaves it.
 */
async function trimDay(client: PoolClient, day: string): Promise<Step> {
  const values = [day, rowsPerTransaction];
  const deliveries = await client.query(
    `DELETE FROM delivery WHERE day = $1 AND NOT (${open})
       AND id IN (SELECT id FROM delivery WHERE day = $1 AND NOT (${open}) LIMIT $2)`,
    values,
  );
  const unsent = (id: string) => `NOT EXISTS (SELECT FROM delivery d WHERE d.day = $1 AND ${id})`;
  const events = await removeEvents(
    client,
    `DELETE FROM event WHERE day = $1
       AND id IN (SELECT id FROM event e WHERE e.day = $1 AND ${unsent('d.event_id = e.id')} LIMIT $2)`,
    values,
  );
  const attempts = await client.query(
    `DELETE FROM attempt WHERE day = $1 AND (delivery_id, number) IN (
       SELECT delivery_id, number FROM attempt a WHERE a.day = $1 AND ${unsent('d.id = a.delivery_id')} LIMIT $2)`,
    values,
  );
  const removed = [deliveries.rowCount ?? 0, events, attempts.rowCount ?? 0];
  const left = await client.query('SELECT FROM event WHERE day = $1 LIMIT 1', [day]);
  return {
    rows: Math.max(...removed),
    isUnfinished: removed.includes(rowsPerTransaction),
    isKept: left.rowCount !== 0,
  };
}

/**
 * Removes events, and records per account the position of the last one in the same statement. A reader with a lower
 * cursor then gets an error (`oldestCursor`). Otherwise the reader would not notice the gap.
 * @param deletion SQL that deletes events
 * @returns how many events were removed
 */
async function removeEvents(client: PoolClient, deletion: string, values: readonly unknown[]): Promise<number> {
  const { rows } = await client.query<{ removed: number }>(
    `WITH gone AS (${deletion} RETURNING account_id, position), noted AS (
       UPDATE account_position p SET removed_through = GREATEST(p.removed_through, g.position)
       FROM (SELECT account_id, max(position) AS position FROM gone GROUP BY account_id) AS g
       WHERE p.account_id = g.account_id)
     SELECT count(*) AS removed FROM gone`,
    [...values],
  );
  return rows[0]!.removed;
}

/** Drops the three tables of a partition that is past, unless it has an event or a delivery. */
async function dropIfEmpty(client: PoolClient, suffix: string): Promise<void> {
  const [event, delivery] = tablesOf(suffix);
  const isEmpty = async () =>
    (await client.query(`SELECT 1 FROM ${event} UNION ALL SELECT 1 FROM ${delivery} LIMIT 1`)).rowCount === 0;
  if (!(await isEmpty())) return;
  // The parent tables are locked first, because every other statement does so too. DROP TABLE alone would lock them
  // last, and two transactions could deadlock.
  await client.query(`LOCK TABLE ONLY event, ONLY delivery, ONLY attempt, ${delivery} IN ACCESS EXCLUSIVE MODE`);
  // A consumer that was down for months may have written an event of a past day before the lock was taken.
  if (await isEmpty()) await client.query('SELECT drop_event_partition($1)', [suffix]);
}

/** Removes attempts of the day that began more than `attemptDays` days ago. Their delivery may still be sent. */
async function removeAttempts(client: PoolClient, day: string, attemptDays: number): Promise<Step> {
  const { rowCount } = await client.query(
    `DELETE FROM attempt WHERE day = $1 AND (delivery_id, number) IN (
       SELECT delivery_id, number FROM attempt
       WHERE day = $1 AND started_at < now() - make_interval(days => $3) LIMIT $2)`,
    [day, rowsPerTransaction, attemptDays],
  );
  return { rows: rowCount ?? 0, isUnfinished: rowCount === rowsPerTransaction };
}

/**
 * Returns the names of a partition's tables. The names become part of SQL texts, so `suffix` must come from
 * PostgreSQL's own catalogue, and its form is checked: the first day, with underscores if ensure_event_day made the
 * partition for a month, without if an earlier release made it for a day.
 */
function tablesOf(suffix: string): [event: string, delivery: string, attempt: string] {
  if (!/^([0-9]{8}|[0-9]{4}_[0-9]{2}_[0-9]{2})$/.test(suffix)) throw new RangeError('a partition has no day');
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
