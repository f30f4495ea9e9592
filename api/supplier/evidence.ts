import type { Pool } from '../../pipelines/runtime/postgres.ts';

/** Years for which a supplier check can be read again. */
const keptYears = 5;

/**
 * Stores the exact answer of a check. Call this before the answer is sent. A process that dies in between then leaves a
 * stored answer that nobody got. The opposite order could send an answer that is not stored.
 */
export async function keepCheck(pool: Pool, accountId: number, id: string, answer: string): Promise<void> {
  await pool.query({
    name: 'supplier-check-keep',
    text: `INSERT INTO supplier_check (id, account_id, answer, kept_until)
           VALUES ($1, $2, $3, now() + $4 * interval '1 year')`,
    values: [id, accountId, answer, keptYears],
  });
}

/** Returns the answer as it was sent, or null when the account has no such check or when `keptYears` have passed. */
export async function readCheck(pool: Pool, accountId: number, id: string): Promise<string | null> {
  const { rows } = await pool.query<{ answer: string }>({
    name: 'supplier-check-read',
    text: 'SELECT answer FROM supplier_check WHERE id = $1 AND account_id = $2 AND kept_until > now()',
    values: [id, accountId],
  });
  return rows[0]?.answer ?? null;
}
