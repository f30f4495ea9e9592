import type { Pool } from '../runtime/postgres.ts';
import type { WatchList } from './lists.ts';

export type HoldingList = Pick<WatchList, 'id' | 'nombre' | 'referencia'>;

/** The account's lists that hold the RUC, oldest first. */
export async function listsHolding(pool: Pool, accountId: number, ruc: string): Promise<HoldingList[]> {
  const { rows } = await pool.query<HoldingList>({
    name: 'lists-holding',
    text: `SELECT l.id, l.nombre, l.referencia FROM watch_member m JOIN watch_list l ON l.id = m.list_id
           WHERE m.ruc = $2 AND l.account_id = $1 AND l.deleted_at IS NULL ORDER BY l.id`,
    values: [accountId, ruc],
  });
  return rows;
}
