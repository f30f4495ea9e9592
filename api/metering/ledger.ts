import { inTransaction, type Pool, type PoolClient } from '../../pipelines/runtime/postgres.ts';
import { decideGrant, type Funds, freeUnits, type Grant, type Lease } from './grant.ts';

/** A lease lapses this long after the last report of its owner, by PostgreSQL's clock. */
export const leaseMs = 65_000;
/**
 * The owner uses a lease this long, by its own clock, counted from before it sent the report. That always ends before
 * the lease lapses in PostgreSQL, so two processes never have the same unit. While PostgreSQL is down, look-ups go on
 * for this time.
 */
export const leaseUsableMs = 60_000;
/** The row of a lapsed lease waits this long for a late report of its owner. Then its units are added to the totals. */
const lapsedKeptMs = 600_000;

export interface GrantRequest {
  accountId: number;
  month: string;
  /** This process's leases of the account. `mes` and `prepago` get the granted units, and a row if they have none. */
  leases: { mes: Lease; prepago: Lease; retired: readonly Lease[] };
  /** `missing`, `block` and `isRecallOver` are parameters of `decideGrant`. */
  missing: number;
  block: number;
  isRecallOver: boolean;
}

export interface GrantAnswer {
  grant: Grant;
  /** The account's units before the grant. */
  funds: Funds;
}

/** The lease lapsed or its row is gone, because its owner did not report in time. The owner must begin a new lease. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
  readonly code = 'lease_lost';
  readonly retryable = true;
}

/**
 * Leases units while the account is locked. If the process dies after the commit, nobody can use the units until the
 * lease lapses.
 * @throws LeaseLost, or pg's errors
 */
export async function grantUnits(pool: Pool, request: GrantRequest): Promise<GrantAnswer> {
  return inTransaction(pool, async (client) => {
    await lockAccount(client, request.accountId);
    await addUpLapsed(client, request.accountId);
    const funds = await readFunds(client, request);
    const grant = decideGrant(funds, request.missing, request.block, request.isRecallOver);
    // Every function that writes several leases locks them in the order of their ids, so that two cannot deadlock.
    const { mes, prepago } = request.leases;
    for (const lease of [mes, prepago].sort((a, b) => (a.id < b.id ? -1 : 1)))
      if (grant[lease.purse] > 0) await writeLease(client, request.accountId, lease, grant[lease.purse]);
    return { grant, funds };
  });
}

/** Returns the units that no process has after the grant. */
export function leftOver({ funds, grant }: GrantAnswer): number {
  const free = freeUnits(funds);
  return free.mes - grant.mes + free.prepago - grant.prepago;
}

async function lockAccount(client: PoolClient, accountId: number): Promise<void> {
  const lock = () => client.query({ name: 'quota-lock', text: lockText, values: [accountId] });
  if ((await lock()).rowCount !== 0) return;
  await client.query('INSERT INTO account_quota (account_id) VALUES ($1) ON CONFLICT DO NOTHING', [accountId]);
  await lock();
}

const lockText = 'SELECT 1 FROM account_quota WHERE account_id = $1 FOR UPDATE';

async function addUpLapsed(client: PoolClient, accountId: number): Promise<void> {
  await client.query({
    name: 'quota-add-up',
    text: `WITH gone AS (
             DELETE FROM quota_lease WHERE account_id = $1 AND expires_at < now() - $2 * interval '1 millisecond'
             RETURNING purse, month, spent + settled AS units),
           months AS (
             INSERT INTO quota_month (account_id, month, used)
             SELECT $1, month, sum(units) FROM gone WHERE purse = 'mes' GROUP BY month
             ON CONFLICT (account_id, month) DO UPDATE SET used = quota_month.used + EXCLUDED.used)
           UPDATE account_quota SET prepaid = prepaid - (SELECT sum(units) FROM gone WHERE purse = 'prepago')
           WHERE account_id = $1 AND EXISTS (SELECT FROM gone WHERE purse = 'prepago')`,
    values: [accountId, lapsedKeptMs],
  });
}

async function readFunds(client: PoolClient, { accountId, month, leases }: GrantRequest): Promise<Funds> {
  const own = [leases.mes, leases.prepago, ...leases.retired].map((lease) => lease.id);
  const { rows } = await client.query<FundsRow>({
    name: 'quota-funds',
    text: fundsText,
    values: [accountId, month, own],
  });
  const row = rows[0]!;
  return {
    limit: row.lookups_per_month,
    used: row.used,
    usedHere: row.used_here,
    prepaid: row.prepaid,
    leased: { mes: row.leased_mes, prepago: row.leased_prepago },
    leasedElsewhere: { mes: row.elsewhere_mes, prepago: row.elsewhere_prepago },
    elsewhereLapsesInMs: row.elsewhere_lapses_in_ms,
  };
}

interface FundsRow {
  lookups_per_month: number;
  used: number;
  used_here: number;
  prepaid: number;
  leased_mes: number;
  leased_prepago: number;
  elsewhere_mes: number;
  elsewhere_prepago: number;
  elsewhere_lapses_in_ms: number;
}

// The reported spending of a lapsed lease counts, but the lease has no unspent units. A lease of another month has no
// units of this month, but its owner keeps the lease's prepaid units until it returns them.
const fundsText = `
  WITH lease AS (
    SELECT purse, month, spent + settled AS spent, id <> ALL ($3::uuid[]) AS elsewhere, expires_at,
           CASE WHEN expires_at > now() THEN greatest(granted - spent - settled, 0) ELSE 0 END AS unspent
    FROM quota_lease WHERE account_id = $1),
  total AS (
    SELECT sum(spent) FILTER (WHERE purse = 'mes' AND month = $2) AS month_spent,
           sum(spent) FILTER (WHERE purse = 'mes' AND month = $2 AND NOT elsewhere) AS month_spent_here,
           sum(spent) FILTER (WHERE purse = 'prepago') AS prepaid_spent,
           sum(unspent) FILTER (WHERE purse = 'mes' AND month = $2) AS leased_mes,
           sum(unspent) FILTER (WHERE purse = 'prepago') AS leased_prepago,
           sum(unspent) FILTER (WHERE purse = 'mes' AND month = $2 AND elsewhere) AS elsewhere_mes,
           sum(unspent) FILTER (WHERE purse = 'prepago' AND elsewhere) AS elsewhere_prepago,
           max(extract(epoch FROM expires_at - now())) FILTER (WHERE elsewhere AND unspent > 0) AS lapses_in
    FROM lease)
  SELECT p.lookups_per_month,
         (coalesce(m.used, 0) + coalesce(t.month_spent, 0))::bigint AS used,
         coalesce(t.month_spent_here, 0)::bigint AS used_here,
         (coalesce(q.prepaid, 0) - coalesce(t.prepaid_spent, 0))::bigint AS prepaid,
         coalesce(t.leased_mes, 0)::bigint AS leased_mes, coalesce(t.leased_prepago, 0)::bigint AS leased_prepago,
         coalesce(t.elsewhere_mes, 0)::bigint AS elsewhere_mes,
         coalesce(t.elsewhere_prepago, 0)::bigint AS elsewhere_prepago,
         coalesce(ceil(t.lapses_in * 1000), 0)::bigint AS elsewhere_lapses_in_ms
  FROM account a
  JOIN plan p ON p.name = a.plan
  LEFT JOIN account_quota q ON q.account_id = a.id
  LEFT JOIN quota_month m ON m.account_id = a.id AND m.month = $2
  CROSS JOIN total t
  WHERE a.id = $1`;

// Only the lease's owner writes `granted`, one write at a time. So the new value is the owner's count plus the grant.
async function writeLease(client: PoolClient, accountId: number, lease: Lease, units: number): Promise<void> {
  const granted = lease.granted + units;
  if (!lease.isWritten) {
    await client.query({
      name: 'quota-new-lease',
      text: `INSERT INTO quota_lease (id, account_id, month, purse, granted, expires_at)
             VALUES ($1, $2, $3, $4, $5, now() + $6 * interval '1 millisecond')`,
      values: [lease.id, accountId, lease.month, lease.purse, granted, leaseMs],
    });
    return;
  }
  const { rowCount } = await client.query({
    name: 'quota-more',
    text: `UPDATE quota_lease SET granted = $2, spent = greatest(spent, $3),
             expires_at = now() + $4 * interval '1 millisecond'
           WHERE id = $1 AND expires_at > now()`,
    values: [lease.id, granted, lease.spent, leaseMs],
  });
  if (rowCount === 0) throw new LeaseLost(`lease ${lease.id} is not this process's any more`);
}

/** An account's monthly limit, its used units, and its prepaid units left. The last second of use may be missing. */
export interface Use {
  limit: number;
  used: number;
  prepaid: number;
}

/** Returns null when the account does not exist. */
export async function readUse(pool: Pool, accountId: number, month: string): Promise<Use | null> {
  const { rows } = await pool.query<FundsRow>({ name: 'quota-funds', text: fundsText, values: [accountId, month, []] });
  const row = rows[0];
  return row === undefined ? null : { limit: row.lookups_per_month, used: row.used, prepaid: row.prepaid };
}
