import type { Pool, Queryable } from '../../pipelines/runtime/postgres.ts';

/** The reference of a data-processing contract, and its first and last day in Lima. A null last day means no end. */
export interface ContractDays {
  reference: string;
  from: string;
  until: string | null;
}

export interface Contract extends ContractDays {
  id: number;
  account: number;
  /** The time when an operator ended the contract at once, before its last day. Null for every other contract. */
  ended_at: Date | null;
  created_at: Date;
}

/** SQL expression for a JSON list of the contracts of account `a` that are in force or begin later, newest first. */
export const openContracts = `coalesce((
  SELECT json_agg(json_build_object('reference', c.reference, 'from', c.from_day, 'until', c.until_day) ORDER BY c.id DESC)
  FROM data_contract c
  WHERE c.account_id = a.id AND c.ended_at IS NULL
    AND (c.until_day IS NULL OR c.until_day >= (now() AT TIME ZONE 'America/Lima')::date)), '[]')`;

/** Returns the newest contract in force, or null. @param contracts the newest first */
export function contractInForce(contracts: readonly ContractDays[], today: string): ContractDays | null {
  return contracts.find(({ from, until }) => from <= today && (until === null || today <= until)) ?? null;
}

/** Each call adds another contract. Returns the contract's id, or null when the account does not exist. */
export async function addContract(
  database: Queryable,
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

/** Returns contracts, ended ones too, the newest first. @param accountId null for the contracts of all accounts */
export async function listContracts(pool: Pool, accountId: number | null, limit: number): Promise<Contract[]> {
  const { rows } = await pool.query<Contract>(
    `SELECT ${columns} FROM data_contract WHERE $1::bigint IS NULL OR account_id = $1 ORDER BY id DESC LIMIT $2`,
    [accountId, limit],
  );
  return rows;
}

/**
 * Ends a contract and keeps its row as history. Every API process sees the end within 5 seconds. Repeating the call
 * changes nothing: the time of the first immediate end stays.
 * @param lastDay the contract's new last day, or null to end it at once
 * @returns null when the contract does not exist
 * @throws pg's error with SQLSTATE 23514 when the last day is before the first day
 */
export async function endContract(database: Queryable, id: number, lastDay: string | null): Promise<Contract | null> {
  const { rows } = await database.query<Contract>(
    `UPDATE data_contract
     SET until_day = coalesce($2, until_day),
         ended_at = CASE WHEN $2::date IS NULL THEN coalesce(ended_at, now()) ELSE ended_at END
     WHERE id = $1 RETURNING ${columns}`,
    [id, lastDay],
  );
  return rows[0] ?? null;
}
