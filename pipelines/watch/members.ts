import { inTransaction, type Pool } from '../runtime/postgres.ts';
import { lockAccount } from './lists.ts';

export interface WatchMember {
  ruc: string;
  added_at: Date;
}

export type AddResult =
  | { ok: true; added: string[]; present: string[] }
  | { ok: false; problem: 'not_found' }
  /** How many the account would watch with these. */
  | { ok: false; problem: 'too_many'; wanted: number };

class TooMany extends Error {
  readonly wanted: number;
  constructor(wanted: number) {
    super('the account would watch too many RUCs');
    this.wanted = wanted;
  }
}

/**
 * Adds companies' RUCs to a list, all or none; those already there are told apart. Repeatable. The account's distinct RUCs
 * are counted inside the transaction under its lock, after the insert: over the limit, the insert is undone.
 */
export async function addMembers(
  pool: Pool,
  accountId: number,
  listId: number,
  rucs: readonly string[],
  maxDistinct: number,
): Promise<AddResult> {
  try {
    return await inTransaction(pool, async (client) => {
      await lockAccount(client, accountId);
      const list = await client.query(
        'SELECT 1 FROM watch_list WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL',
        [accountId, listId],
      );
      if (list.rowCount === 0) return { ok: false, problem: 'not_found' };
      const { rows } = await client.query<{ ruc: string }>(
        `INSERT INTO watch_member (list_id, ruc) SELECT $1, unnest($2::text[])
         ON CONFLICT DO NOTHING RETURNING ruc`,
        [listId, rucs],
      );
      const added = new Set(rows.map((row) => row.ruc));
      if (added.size > 0) {
        const { rows: counts } = await client.query<{ count: number }>(
          `SELECT count(DISTINCT m.ruc) FROM watch_member m JOIN watch_list l ON l.id = m.list_id
           WHERE l.account_id = $1 AND l.deleted_at IS NULL`,
          [accountId],
        );
        if (counts[0]!.count > maxDistinct) throw new TooMany(counts[0]!.count);
      }
      return {
        ok: true,
        added: rucs.filter((ruc) => added.has(ruc)),
        present: rucs.filter((ruc) => !added.has(ruc)),
      };
    });
  } catch (error) {
    if (error instanceof TooMany) return { ok: false, problem: 'too_many', wanted: error.wanted };
    throw error;
  }
}

/** Members after the RUC `after`, in order of RUC. The list's owner is checked by the caller. */
export async function pageMembers(pool: Pool, listId: number, after: string, limit: number): Promise<WatchMember[]> {
  const { rows } = await pool.query<WatchMember>(
    'SELECT ruc, added_at FROM watch_member WHERE list_id = $1 AND ruc > $2 ORDER BY ruc LIMIT $3',
    [listId, after, limit],
  );
  return rows;
}

/** Repeatable: removing what is not there is no error. */
export async function removeMember(pool: Pool, listId: number, ruc: string): Promise<void> {
  await pool.query('DELETE FROM watch_member WHERE list_id = $1 AND ruc = $2', [listId, ruc]);
}
