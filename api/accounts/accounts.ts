import type { Pool } from '../../deploy/runtime/postgres.ts';

export interface Account {
  id: number;
  name: string;
  plan: string;
  email: string | null;
  contract: { reference: string; from: string; until: string | null } | null;
  created_at: Date;
}

export interface NewAccount {
  name: string;
  plan: string;
  email: string | null;
  /** Reference of the data-processing contract that opens natural persons' records; from today when no day is given. */
  contract: { reference: string; from: string; until: string | null } | null;
}

interface AccountRow {
  id: number;
  name: string;
  plan: string;
  email: string | null;
  contract_reference: string | null;
  contract_from: string;
  contract_until: string | null;
  created_at: Date;
}

/** Not repeatable: each call is one more account. Dying before the answer leaves an account without tokens. */
export async function createAccount(pool: Pool, account: NewAccount): Promise<number> {
  const { contract } = account;
  const { rows } = await pool.query<{ id: number }>(
    `INSERT INTO account (name, plan, email, contract_reference, contract_from, contract_until)
     VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`,
    [
      account.name,
      account.plan,
      account.email,
      contract?.reference ?? null,
      contract?.from ?? null,
      contract?.until ?? null,
    ],
  );
  return rows[0]!.id;
}

/** Oldest first. */
export async function listAccounts(pool: Pool, limit: number): Promise<Account[]> {
  const { rows } = await pool.query<AccountRow>('SELECT * FROM account ORDER BY id LIMIT $1', [limit]);
  return rows.map(({ contract_reference, contract_from, contract_until, ...account }) => ({
    ...account,
    contract:
      contract_reference === null
        ? null
        : { reference: contract_reference, from: contract_from, until: contract_until },
  }));
}

/** Names of the plans, lowest first. */
export async function planNames(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>('SELECT name FROM plan ORDER BY rank');
  return rows.map((row) => row.name);
}
