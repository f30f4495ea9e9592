import type { Pool } from '../../pipelines/runtime/postgres.ts';

/** How long a supplier check can be asked for again. */
const keptYears = 5;

/** The evidence of a check: its exact answer. */
export interface SupplierCheckEvidence {
  /** A UUID, which stands in the answer. */
  id: string;
  accountId: number;
  answer: string;
}

/** Written before the answer is sent: dying between them leaves a check that nobody got, never an answer without its evidence. */
export async function keepCheck(pool: Pool, { id, accountId, answer }: SupplierCheckEvidence): Promise<void> {
  await pool.query({
    name: 'supplier-check-keep',
    text: `INSERT INTO supplier_check (id, account_id, answer, kept_until)
           VALUES ($1, $2, $3, now() + $4 * interval '1 year')`,
    values: [id, accountId, answer, keptYears],
  });
}

/** The answer as it was sent; null: no such check of this account, or its years are over. */
export async function readCheck(pool: Pool, accountId: number, id: string): Promise<string | null> {
  const { rows } = await pool.query<{ answer: string }>({
    name: 'supplier-check-read',
    text: 'SELECT answer FROM supplier_check WHERE id = $1 AND account_id = $2 AND kept_until > now()',
    values: [id, accountId],
  });
  return rows[0]?.answer ?? null;
}
