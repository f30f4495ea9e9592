import { inTransaction, lockAccount, type Pool } from '../../pipelines/runtime/postgres.ts';
import { inForce } from '../pages/sessions/sessions.ts';

/*
 * A seat is a row for one open event stream of an account. Counting the rows limits the account's streams over all API
 * processes. Streams of the console's sessions are counted apart, so people who look take no seat from programs. Each process renews the leases of its seats. If a process dies, its seats become free when the leases end.
 */

/** Takes a seat and returns null. When all seats are taken, it returns the time when the oldest stream was opened. */
export function takeSeat(
  pool: Pool,
  seat: { id: string; accountId: number; sessionId: string | null },
  { maxPerAccount, leaseMs }: { maxPerAccount: number; leaseMs: number },
): Promise<Date | null> {
  return inTransaction(pool, async (client) => {
    await lockAccount(client, seat.accountId);
    await client.query('DELETE FROM event_stream WHERE account_id = $1 AND lease_until < now()', [seat.accountId]);
    const { rows } = await client.query<{ count: number; oldest: Date | null }>(
      `SELECT count(*), min(opened_at) AS oldest FROM event_stream
       WHERE account_id = $1 AND (session_id IS NULL) = $2`,
      [seat.accountId, seat.sessionId === null],
    );
    if (rows[0]!.count >= maxPerAccount) return rows[0]!.oldest;
    await client.query(
      `INSERT INTO event_stream (id, account_id, session_id, lease_until)
       VALUES ($1, $2, $3, now() + make_interval(secs => $4))`,
      [seat.id, seat.accountId, seat.sessionId, leaseMs / 1_000],
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
  /** False when the stream's token was revoked, its session ended, or the account's plan no longer includes streams. */
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
  seats: readonly { id: string; tokenId: string; sessionId: string | null }[],
  { leaseMs, minRank }: { leaseMs: number; minRank: number },
): Promise<SeatStanding[]> {
  const { rows } = await pool.query<SeatStanding>({
    name: 'renew-seats',
    text: `UPDATE event_stream s SET lease_until = now() + make_interval(secs => $4)
      FROM unnest($1::text[], $2::text[], $3::uuid[]) AS seat (id, token_id, session_id),
        account a JOIN plan p ON p.name = a.plan LEFT JOIN account_position l ON l.account_id = a.id
      WHERE s.id = seat.id AND a.id = s.account_id
      RETURNING s.id, coalesce(l.last_position, 0) AS "lastPosition", p.rank >= $5 AND CASE
        WHEN seat.session_id IS NULL THEN EXISTS (SELECT FROM token t WHERE t.id = seat.token_id AND t.revoked_at IS NULL)
        ELSE EXISTS (SELECT FROM console_session s LEFT JOIN token t ON t.id = s.token_id
          WHERE s.id = seat.session_id AND ${inForce}) END AS "isAllowed"`,
    values: [
      seats.map(({ id }) => id),
      seats.map(({ tokenId }) => tokenId),
      seats.map(({ sessionId }) => sessionId),
      leaseMs / 1_000,
      minRank,
    ],
  });
  return rows;
}
