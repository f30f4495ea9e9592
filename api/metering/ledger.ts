import type { Pool, PoolClient } from '../../pipelines/runtime/postgres.ts';
import { storeUnavailable } from '../problems.ts';

/** The day of a charge in Lima, and the first day of its month, both YYYY-MM-DD. */
export interface ChargeDay {
  month: string;
  day: string;
}

/** What an account has used of a month, and what it has left. */
export interface Use {
  /** The plan's units of the month. */
  limit: number;
  used: number;
  /** Prepaid units that are not spent. They outlive the month. */
  prepaid: number;
}

/** Returns null when there is no such account. */
export async function readUse(pool: Pool, accountId: number, month: string): Promise<Use | null> {
  const { rows } = await pool.query<Use>({
    name: 'quota-read',
    text: `SELECT p.lookups_per_month AS "limit", coalesce(m.used, 0) AS used, coalesce(q.prepaid, 0) AS prepaid
           FROM account a
           JOIN plan p ON p.name = a.plan
           LEFT JOIN account_quota q ON q.account_id = a.id
           LEFT JOIN quota_month m ON m.account_id = a.id AND m.month = $2
           WHERE a.id = $1`,
    values: [accountId, month],
  });
  return rows[0] ?? null;
}

/**
 * Units that can still be charged. After a change to a lower plan, `used` may exceed `limit`. Then the month has no
 * units left.
 */
export function unitsLeft({ limit, used, prepaid }: Use): number {
  return Math.max(0, limit - used) + Math.max(0, prepaid);
}

/**
 * Settings of a transaction that only charges. The commit does not wait for the disk: a PostgreSQL that crashes forgets
 * at most its last second of charges, in the customers' favour. If the API's machine is lost during the transaction,
 * PostgreSQL ends the transaction after 5 s and frees its rows.
 */
export const withoutDiskWait = `SET LOCAL synchronous_commit = off; SET LOCAL idle_in_transaction_session_timeout = '5s'`;
/**
 * The same settings, made by the charging statement itself. A separate statement would cost every group of charges one
 * more round trip.
 */
const withSettings = `set_config('synchronous_commit', 'off', true),
                     set_config('idle_in_transaction_session_timeout', '5s', true)`;

/**
 * Charges many accounts in one statement, each for all of its units or none. It takes only the month's units, not
 * prepaid units. Such statements never wait for each other, so they cannot deadlock. The same statement adds to the
 * use per day. Whoever writes an account's row of a day holds the row of its month, so nobody waits for a day's row.
 * The statement leaves out:
 * - an account whose month has too few units or no row yet
 * - an account whose row another transaction has locked; otherwise a busy account would delay all others
 * @returns the use of each charged account after the charge
 */
export async function chargeMonths(
  client: PoolClient,
  { month, day }: ChargeDay,
  units: ReadonlyMap<number, number>,
): Promise<Map<number, Use>> {
  const { rows } = await client.query<Use & { account_id: number }>({
    name: 'quota-charge-months',
    text: `WITH asked AS (SELECT * FROM unnest($2::bigint[], $3::bigint[]) AS a (account_id, units)),
           enough AS (
             SELECT m.account_id, asked.units, p.lookups_per_month, coalesce(q.prepaid, 0) AS prepaid
             FROM asked
             JOIN quota_month m ON m.account_id = asked.account_id AND m.month = $1
             JOIN account a ON a.id = asked.account_id
             JOIN plan p ON p.name = a.plan
             LEFT JOIN account_quota q ON q.account_id = asked.account_id
             WHERE m.used + asked.units <= p.lookups_per_month
             FOR UPDATE OF m SKIP LOCKED),
           charged AS (
             UPDATE quota_month m SET used = m.used + enough.units
             FROM enough WHERE m.account_id = enough.account_id AND m.month = $1
             RETURNING m.account_id, enough.units, enough.lookups_per_month AS "limit", m.used, enough.prepaid),
           of_day AS (
             INSERT INTO quota_day AS d (account_id, day, units) SELECT account_id, $4::date, units FROM charged
             ON CONFLICT (account_id, day) DO UPDATE SET units = d.units + EXCLUDED.units)
           SELECT account_id, "limit", used, prepaid, ${withSettings} FROM charged`,
    values: [month, [...units.keys()], [...units.values()], day],
  });
  return new Map(rows.map(({ account_id, limit, used, prepaid }) => [account_id, { limit, used, prepaid }]));
}

/** Longest wait for a locked row. A row is normally locked for a few milliseconds. */
const lockTimeout = `SET LOCAL lock_timeout = '3s'`;
const lockNotAvailable = '55P03';

/**
 * Charges one account all the units or none, first from the month's units, then from the prepaid units. The charge
 * waits for other transactions on the account's rows. Nothing is charged until the caller commits.
 * @returns the use after the charge; `isCharged` is false when the units did not suffice and nothing was charged
 * @throws ApiProblem servicio_no_disponible when the rows stay locked for too long
 */
export async function chargeAccount(
  client: PoolClient,
  { month, day }: ChargeDay,
  accountId: number,
  units: number,
): Promise<{ isCharged: boolean; use: Use }> {
  const charge = async () => {
    const { rows } = await client.query<Use & { of_month: number; is_charged: boolean }>({
      name: 'quota-charge-account',
      text: chargeAccountText,
      values: [accountId, month, units, day],
    });
    return rows[0];
  };
  try {
    await client.query(lockTimeout);
    let row = await charge();
    if (row === undefined) {
      await addRows(client, accountId, month);
      row = (await charge())!;
    }
    const { limit, used, prepaid, of_month, is_charged } = row;
    if (!is_charged) return { isCharged: false, use: { limit, used, prepaid } };
    return { isCharged: true, use: { limit, used: used + of_month, prepaid: prepaid - (units - of_month) } };
  } catch (error) {
    throw (error as { code?: unknown }).code === lockNotAvailable ? storeUnavailable(error) : error;
  }
}

// The statement locks both rows before it compares their units with the charge, because only a locked row is read as it
// is now. An unlocked row is read as it was when the statement began. Every charge locks first the row with the prepaid
// units (account_quota), then the month's row and then the day's. With two orders, two charges could deadlock.
const chargeAccountText = `
  WITH held AS (
    SELECT p.lookups_per_month AS "limit", m.used, q.prepaid,
           least($3::bigint, greatest(p.lookups_per_month - m.used, 0)) AS of_month
    FROM account_quota q
    JOIN quota_month m ON m.account_id = q.account_id AND m.month = $2
    JOIN account a ON a.id = q.account_id
    JOIN plan p ON p.name = a.plan
    WHERE q.account_id = $1
    FOR UPDATE OF q, m),
  enough AS (SELECT * FROM held WHERE of_month + greatest(prepaid, 0) >= $3),
  of_month AS (
    UPDATE quota_month m SET used = m.used + enough.of_month FROM enough WHERE m.account_id = $1 AND m.month = $2),
  of_prepaid AS (
    UPDATE account_quota q SET prepaid = q.prepaid - ($3 - enough.of_month)
    FROM enough WHERE q.account_id = $1 AND enough.of_month < $3),
  of_day AS (
    INSERT INTO quota_day AS d (account_id, day, units) SELECT $1, $4::date, $3 FROM enough
    ON CONFLICT (account_id, day) DO UPDATE SET units = d.units + EXCLUDED.units)
  SELECT held.*, EXISTS (SELECT FROM enough) AS is_charged FROM held`;

async function addRows(client: PoolClient, accountId: number, month: string): Promise<void> {
  await client.query({
    name: 'quota-add-rows',
    text: `WITH balance AS (INSERT INTO account_quota (account_id) VALUES ($1) ON CONFLICT DO NOTHING)
           INSERT INTO quota_month (account_id, month) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
    values: [accountId, month],
  });
}
