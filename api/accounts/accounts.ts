import { inTransaction, type Pool, type PoolClient, type Queryable } from '../../pipelines/runtime/postgres.ts';
import { followPlan } from '../../pipelines/webhooks/pauses.ts';
import { limaDay } from '../../schemas/lima-time.ts';
import { watchPlan } from './callers.ts';
import { addContract, type ContractDays, contractInForce, openContracts } from './contracts.ts';

export interface Account {
  id: number;
  name: string;
  plan: string;
  email: string | null;
  /** The data-processing contract in force today. With null the account may not see natural persons' records. */
  contract: ContractDays | null;
  created_at: Date;
}

type NewAccount = Pick<Account, 'name' | 'plan' | 'email' | 'contract'>;

/**
 * Makes an account without a token and returns its id. Each call makes another account. A caller that dies after the
 * commit and repeats the call therefore makes a second account.
 */
export async function createAccount(pool: Pool, { name, plan, email, contract }: NewAccount): Promise<number> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ id: number }>(
      'INSERT INTO account (name, plan, email) VALUES ($1, $2, $3) RETURNING id',
      [name, plan, email],
    );
    const { id } = rows[0]!;
    if (contract !== null) await addContract(client, id, contract);
    return id;
  });
}

type AccountRow = Omit<Account, 'contract'> & { contracts: ContractDays[] };

const accountColumns = `a.id, a.name, a.plan, a.email, a.created_at, ${openContracts} AS contracts`;

/** Returns at most `limit` accounts, the oldest first. */
export async function listAccounts(pool: Pool, limit: number): Promise<Account[]> {
  const { rows } = await pool.query<AccountRow>(`SELECT ${accountColumns} FROM account a ORDER BY a.id LIMIT $1`, [
    limit,
  ]);
  return rows.map(accountOf);
}

/** Returns null when the account does not exist. */
export async function readAccount(database: Queryable, id: number): Promise<Account | null> {
  const { rows } = await database.query<AccountRow>(`SELECT ${accountColumns} FROM account a WHERE a.id = $1`, [id]);
  return rows[0] === undefined ? null : accountOf(rows[0]);
}

/** Returns the names of these accounts by their ids. */
export async function accountNames(pool: Pool, ids: readonly number[]): Promise<Map<number, string>> {
  const { rows } = await pool.query<Pick<Account, 'id' | 'name'>>('SELECT id, name FROM account WHERE id = ANY($1)', [
    ids,
  ]);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

function accountOf({ contracts, ...account }: AccountRow): Account {
  return { ...account, contract: contractInForce(contracts, limaDay(new Date())) };
}

/**
 * Gives the account another plan, in the caller's transaction. Repeating the call changes nothing. Every API process
 * sees the new plan within 5 seconds. A plan without watch lists stops the account's webhooks. A plan with watch lists
 * starts them again.
 * @returns false when the account does not exist
 */
export async function changePlan(client: PoolClient, accountId: number, plan: string): Promise<boolean> {
  const { rows } = await client.query<{ watches: boolean }>(
    `UPDATE account SET plan = $2 WHERE id = $1
     RETURNING (SELECT rank FROM plan WHERE name = $2) >= (SELECT rank FROM plan WHERE name = $3) AS watches`,
    [accountId, plan, watchPlan],
  );
  if (rows[0] === undefined) return false;
  await followPlan(client, accountId, rows[0].watches);
  return true;
}

/**
 * Sets the mail address for notices about the account's webhooks. Null ends these mails. The call may be repeated.
 * @returns false when the account does not exist
 */
export async function changeEmail(database: Queryable, accountId: number, email: string | null): Promise<boolean> {
  const { rowCount } = await database.query('UPDATE account SET email = $2 WHERE id = $1', [accountId, email]);
  return rowCount === 1;
}

/** Returns the names of the plans, the lowest plan first. */
export async function planNames(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>('SELECT name FROM plan ORDER BY rank');
  return rows.map((row) => row.name);
}

export type CreditOutcome = 'credited' | 'already_credited' | 'other_units' | 'no_account';

/**
 * Adds prepaid units to an account, in the caller's transaction. The call may be repeated, because one `reference` (of
 * a purchase) adds its units only once. A repeated reference with another number of units is refused. Every API process
 * knows the new units within 1 s.
 */
export async function creditUnits(
  client: PoolClient,
  accountId: number,
  units: number,
  reference: string,
): Promise<CreditOutcome> {
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
}
