import type { RegisterName } from '../../schemas/registers.ts';
import type { Pool, PoolClient } from '../runtime/postgres.ts';

/** A comparison of the state in ClickHouse with the archive. */
export interface Reconciliation {
  register: RegisterName;
  edition: number;
  equal: boolean;
  /** Rows of the state. */
  rows: number;
  differences: number;
  /** Counts by part, and the first differences; natural persons masked. */
  detail: Record<string, unknown>;
}

export async function recordReconciliation(
  database: Pick<Pool | PoolClient, 'query'>,
  { register, edition, equal, rows, differences, detail }: Reconciliation,
): Promise<void> {
  await database.query(
    `INSERT INTO reconciliation (register, edition, equal, rows, differences, detail) VALUES ($1, $2, $3, $4, $5, $6)`,
    [register, edition, equal, rows, differences, JSON.stringify(detail)],
  );
}
