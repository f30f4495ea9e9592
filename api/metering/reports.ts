import type { Pool } from '../../pipelines/runtime/postgres.ts';
import type { Lease } from './lease.ts';
import { leaseMs } from './ledger.ts';

/**
 * Tells PostgreSQL what these leases have spent and renews them, in one statement for all accounts. Counts are absolute:
 * repeating it, or dying before the answer is read, changes nothing. A lapsed lease's spending still counts, but it does not
 * come to life again: its units may be another's by now. Rows that a transaction of this process holds are left for the
 * next report, so that one long transaction delays nobody.
 * @returns by id, of the rows that were written: whether the lease lives on
 */
export async function reportSpent(pool: Pool, leases: readonly Lease[]): Promise<Map<string, boolean>> {
  const spent = new Map(leases.map((lease) => [lease.id, lease.spent]));
  const { rows } = await pool.query<{ id: string; lives: boolean }>({
    name: 'quota-report',
    text: `WITH reported AS (
             SELECT l.id, r.spent FROM quota_lease l JOIN unnest($1::uuid[], $2::bigint[]) AS r (id, spent) ON r.id = l.id
             FOR UPDATE OF l SKIP LOCKED)
           UPDATE quota_lease l
           SET spent = greatest(l.spent, r.spent),
               expires_at = CASE WHEN l.expires_at > now() THEN now() + $3 * interval '1 millisecond' ELSE l.expires_at END
           FROM reported r
           WHERE l.id = r.id
           RETURNING l.id, l.expires_at > now() AS lives`,
    values: [[...spent.keys()], [...spent.values()], leaseMs],
  });
  const lives = new Map(rows.map((row) => [row.id, row.lives]));
  for (const lease of leases) if (lives.has(lease.id)) lease.reportedSpent = spent.get(lease.id)!;
  return lives;
}

/**
 * Gives back what the leases hold beyond `bound`. The caller has shrunk them before, so that no request takes a unit that is
 * on its way back. Repeatable. Rows are locked in the order of their ids, as by every writer of several.
 */
export async function giveBack(pool: Pool, leases: readonly Lease[]): Promise<void> {
  const spent = leases.map((lease) => lease.spent);
  const granted = leases.map((lease) => lease.granted);
  await pool.query({
    name: 'quota-give-back',
    text: `WITH given AS (
             SELECT l.id, r.granted, r.spent
             FROM quota_lease l JOIN unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS r (id, granted, spent) ON r.id = l.id
             ORDER BY l.id FOR UPDATE OF l)
           UPDATE quota_lease l SET granted = g.granted, spent = greatest(l.spent, g.spent)
           FROM given g WHERE l.id = g.id`,
    values: [leases.map((lease) => lease.id), granted, spent],
  });
  leases.forEach((lease, index) => {
    lease.reportedSpent = Math.max(lease.reportedSpent, spent[index]!);
    lease.writtenGranted = granted[index]!;
  });
}

/** What others than these leases have spent of each account's month: for the headers, as of the last second. */
export async function readUsedElsewhere(
  pool: Pool,
  month: string,
  accountIds: readonly number[],
  ownLeases: readonly Lease[],
): Promise<Map<number, number>> {
  const { rows } = await pool.query<{ account_id: number; used: number }>({
    name: 'quota-used-elsewhere',
    text: `SELECT a.account_id, (coalesce(m.used, 0) + coalesce(l.spent, 0))::bigint AS used
           FROM unnest($1::bigint[]) AS a (account_id)
           LEFT JOIN quota_month m ON m.account_id = a.account_id AND m.month = $2
           LEFT JOIN LATERAL (
             SELECT sum(spent + settled) AS spent FROM quota_lease
             WHERE account_id = a.account_id AND month = $2 AND purse = 'mes' AND id <> ALL ($3::uuid[])) l ON true`,
    values: [accountIds, month, ownLeases.map((lease) => lease.id)],
  });
  return new Map(rows.map((row) => [row.account_id, row.used]));
}
