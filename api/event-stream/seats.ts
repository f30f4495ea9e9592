import { inTransaction, lockAccount, type Pool } from '../../pipelines/runtime/postgres.ts';

/*
 * A seat is a row for one open event stream of an account. Counting the rows limits the account's streams over all API
 * processes. Each process renews the leases of its seats. If a process dies, its seats become free when the leases end.
 */

/** Takes a seat and returns null. When all seats are taken, it returns the time when the oldest stream was opened. */
export function takeSeat(
  pool: Pool,
  seat: { id: string; accountId: number },
  { maxPerAccount, leaseMs }: { maxPerAccount: number; leaseMs: number },
): Promise<Date | null> {
  return inTransaction(pool, async (client) => {
    await lockAccount(client, seat.accountId);
    await client.query('DELETE FROM event_stream WHERE account_id = $1 AND lease_until < now()', [seat.accountId]);
    const { rows } = await client.query<{ count: number; oldest: Date | null }>(
      'SELECT count(*), min(opened_at) AS oldest FROM event_stream WHERE account_id = $1',
      [seat.accountId],
    );
    if (rows[0]!.count >= maxPerAccount) return rows[0]!.oldest;
    await client.query(
      'INSERT INTO event_stream (id, account_id, lease_until) VALUES ($1, $2, now() + make_interval(secs => $3))',
      [seat.id, seat.accountId, leaseMs / 1_000],
    );
    return null;
  });
}

export async function leaveSeat(pool: Pool, id: string): Promise<void> {
  await pool.query('DELETE FROM event_stream WHERE id = $1', [id]);
}

/** The state of a seat at the moment when its lease was renewed. */
export interface SeatStanding {
  id: string;
  /** False when the stream's token was revoked, or when the account's plan no longer includes streams. */
  isAllowed: boolean;
  /** The position of the account's last event. */
  lastPosition: number;
}

/**
 * Renews the leases of the given seats in one statement. Returns the states of the seats that still have a row.
 * @param minRank the lowest rank of a plan that may open streams
 */
export async function renewSeats(
  pool: Pool,
  seats: readonly { id: string; tokenId: string }[],
  { leaseMs, minRank }: { leaseMs: number; minRank: number },
): Promise<SeatStanding[]> {
  const { rows } = await pool.query<SeatStanding>({
    name: 'renew-seats',
    text: `UPDATE event_stream s SET lease_until = now() + make_interval(secs => $3)
      FROM unnest($1::text[], $2::text[]) AS seat (id, token_id)
        JOIN token t ON t.id = seat.token_id JOIN account a ON a.id = t.account_id JOIN plan p ON p.name = a.plan
        LEFT JOIN account_position l ON l.account_id = a.id
      WHERE s.id = seat.id
      RETURNING s.id, t.revoked_at IS NULL AND p.rank >= $4 AS "isAllowed", coalesce(l.last_position, 0) AS "lastPosition"`,
    values: [seats.map(({ id }) => id), seats.map(({ tokenId }) => tokenId), leaseMs / 1_000, minRank],
  });
  return rows;
}
