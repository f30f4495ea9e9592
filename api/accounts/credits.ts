import { inTransaction, type Pool } from '../../pipelines/runtime/postgres.ts';

export type CreditOutcome = 'credited' | 'already_credited' | 'other_units' | 'no_account';

/**
 * Adds prepaid units. Repeatable: an order of the same reference counts once, and one of the same reference and other units
 * is told apart. Every API process draws on them within a second.
 */
export async function creditUnits(
  pool: Pool,
  accountId: number,
  units: number,
  reference: string,
): Promise<CreditOutcome> {
  return inTransaction(pool, async (client) => {
    const made = await client.query(
      `INSERT INTO prepaid_credit (account_id, reference, units) SELECT id, $2, $3 FROM account WHERE id = $1
       ON CONFLICT (account_id, reference) DO NOTHING`,
      [accountId, reference, units],
    );
    if (made.rowCount === 0) {
      const { rows } = await client.query<{ units: number }>(
        'SELECT units FROM prepaid_credit WHERE account_id = $1 AND reference = $2',
        [accountId, reference],
      );
      if (rows[0] === undefined) return 'no_account';
      return rows[0].units === units ? 'already_credited' : 'other_units';
    }
    await client.query(
      `INSERT INTO account_quota (account_id, prepaid) VALUES ($1, $2)
       ON CONFLICT (account_id) DO UPDATE SET prepaid = account_quota.prepaid + EXCLUDED.prepaid`,
      [accountId, units],
    );
    return 'credited';
  });
}
