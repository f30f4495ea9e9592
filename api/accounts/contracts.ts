import type { Pool, PoolClient } from '../../pipelines/runtime/postgres.ts';

/** A data-processing contract's reference, and its first and last day in Lima. A contract without a last day is open. */
export interface ContractDays {
  reference: string;
  from: string;
  until: string | null;
}

export interface Contract extends ContractDays {
  id: number;
  account: number;
  /** Set when the contract was ended at once, before its last day. */
  ended_at: Date | null;
  created_at: Date;
}

/** SQL expression: the contracts of account `a` that are in force today or will be, the newest first, as JSON. */
export const openContracts = `coalesce((
  SELECT json_agg(json_build_object('reference', c.reference, 'from', c.from_day, 'until', c.until_day) ORDER BY c.id DESC)
  FROM data_contract c
  WHERE c.account_id = a.id AND c.ended_at IS NULL
    AND (c.until_day IS NULL OR c.until_day >= (now() AT TIME ZONE 'America/Lima')::date)), '[]')`;

/** When several contracts are in force, the newest one counts. They come newest first. */
export function contractInForce(contracts: readonly ContractDays[], today: string): ContractDays | null {
  return contracts.find(({ from, until }) => from <= today && (until === null || today <= until)) ?? null;
}

/** Not repeatable: each call makes another contract. Returns null when there is no such account. */
export async function addContract(
  database: Pool | PoolClient,
  accountId: number,
  { reference, from, until }: ContractDays,
): Promise<number | null> {
  const { rows } = await database.query<{ id: number }>(
    `INSERT INTO data_contract (account_id, reference, from_day, until_day)
     SELECT id, $2, $3, $4 FROM account WHERE id = $1 RETURNING id`,
    [accountId, reference, from, until],
  );
  return rows[0]?.id ?? null;
}

const columns = `id, account_id AS account, reference, from_day AS "from", until_day AS "until", ended_at, created_at`;

/** Contracts of one account, or of all for null, the newest first. Past ones are included. */
export async function listContracts(pool: Pool, accountId: number | null, limit: number): Promise<Contract[]> {
  const { rows } = await pool.query<Contract>(
    `SELECT ${columns} FROM data_contract WHERE $1::bigint IS NULL OR account_id = $1 ORDER BY id DESC LIMIT $2`,
    [accountId, limit],
  );
  return rows;
}

/**
 * Ends a contract on a last day, or at once for null. Repeatable: a contract that was ended at once keeps that time. Every
 * API process sees the end within 5 seconds. The row stays as history.
 * @returns null when there is no such contract
 * @throws pg's error with SQLSTATE 23514 when the last day is before the first
 */
export async function endContract(pool: Pool, id: number, lastDay: string | null): Promise<Contract | null> {
  const { rows } = await pool.query<Contract>(
    `UPDATE data_contract
     SET until_day = coalesce($2, until_day),
         ended_at = CASE WHEN $2::date IS NULL THEN coalesce(ended_at, now()) ELSE ended_at END
     WHERE id = $1 RETURNING ${columns}`,
    [id, lastDay],
  );
  return rows[0] ?? null;
}
