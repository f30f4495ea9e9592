import { inTransaction, lockAccount, type Pool } from '../runtime/postgres.ts';

export interface WatchList {
  id: number;
  nombre: string;
  referencia: string | null;
  rucs: number;
  created_at: Date;
}

/** The fields of a list that an event contains. */
export type ListSnapshot = Pick<WatchList, 'id' | 'nombre' | 'referencia'>;

export type ListProblem = { ok: false; problem: 'name_taken' | 'too_many' | 'not_found' };
export type ListResult = { ok: true; list: WatchList } | ListProblem;

/** Largest number of lists of an account at a time. */
export const maxLists = 1_000;

const columns = `l.id, l.nombre, l.referencia, l.created_at,
  (SELECT count(*) FROM watch_member m WHERE m.list_id = l.id) AS rucs`;

/**
 * Creates a list. A repeat of the call returns `name_taken`. The account is locked. Otherwise two calls at once could
 * both pass the check of `maxLists`.
 */
export async function createList(
  pool: Pool,
  accountId: number,
  wanted: { nombre: string; referencia: string | null },
): Promise<ListResult> {
  return whenNameIsFree(() =>
    inTransaction(pool, async (client) => {
      await lockAccount(client, accountId);
      const held = await client.query<{ count: number }>(
        'SELECT count(*) FROM watch_list WHERE account_id = $1 AND deleted_at IS NULL',
        [accountId],
      );
      if (held.rows[0]!.count >= maxLists) return { ok: false, problem: 'too_many' };
      const { rows } = await client.query<WatchList>(
        `INSERT INTO watch_list AS l (account_id, nombre, referencia) VALUES ($1, $2, $3) RETURNING ${columns}`,
        [accountId, wanted.nombre, wanted.referencia],
      );
      return { ok: true, list: rows[0]! };
    }),
  );
}

export async function readList(pool: Pool, accountId: number, id: number): Promise<WatchList | null> {
  const { rows } = await pool.query<WatchList>(
    `SELECT ${columns} FROM watch_list l WHERE l.account_id = $1 AND l.id = $2 AND l.deleted_at IS NULL`,
    [accountId, id],
  );
  return rows[0] ?? null;
}

export async function hasLists(pool: Pool, accountId: number): Promise<boolean> {
  const { rowCount } = await pool.query(
    'SELECT 1 FROM watch_list WHERE account_id = $1 AND deleted_at IS NULL LIMIT 1',
    [accountId],
  );
  return rowCount !== 0;
}

export async function pageLists(pool: Pool, accountId: number, after: number, limit: number): Promise<WatchList[]> {
  const { rows } = await pool.query<WatchList>(
    `SELECT ${columns} FROM watch_list l
     WHERE l.account_id = $1 AND l.id > $2 AND l.deleted_at IS NULL ORDER BY l.id LIMIT $3`,
    [accountId, after, limit],
  );
  return rows;
}

/** Changes a list. A field that `patch` lacks keeps its value; null clears `referencia`. A repeat changes nothing. */
export async function updateList(
  pool: Pool,
  accountId: number,
  id: number,
  patch: { nombre?: string | undefined; referencia?: string | null | undefined },
): Promise<ListResult> {
  return whenNameIsFree(async () => {
    const { rows } = await pool.query<WatchList>(
      `UPDATE watch_list l SET nombre = coalesce($3, l.nombre),
         referencia = CASE WHEN $4 THEN $5 ELSE l.referencia END
       WHERE l.account_id = $1 AND l.id = $2 AND l.deleted_at IS NULL RETURNING ${columns}`,
      [accountId, id, patch.nombre ?? null, patch.referencia !== undefined, patch.referencia ?? null],
    );
    return rows[0] === undefined ? { ok: false, problem: 'not_found' } : { ok: true, list: rows[0] };
  });
}

/**
 * Marks the list as deleted and removes its RUCs in one transaction. The list's row stays, because events refer to its
 * id. Existing deliveries are still sent. Returns false if the account has no such list.
 */
export async function deleteList(pool: Pool, accountId: number, id: number): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    await lockAccount(client, accountId);
    const { rowCount } = await client.query(
      'UPDATE watch_list SET deleted_at = now() WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL',
      [accountId, id],
    );
    if (rowCount === 0) return false;
    await client.query('DELETE FROM watch_member WHERE list_id = $1', [id]);
    return true;
  });
}

async function whenNameIsFree(write: () => Promise<ListResult>): Promise<ListResult> {
  try {
    return await write();
  } catch (error) {
    if (error instanceof Error && 'constraint' in error && error.constraint === 'watch_list_name')
      return { ok: false, problem: 'name_taken' };
    throw error;
  }
}

export async function listsHolding(pool: Pool, accountId: number, ruc: string): Promise<ListSnapshot[]> {
  const { rows } = await pool.query<ListSnapshot>({
    name: 'lists-holding',
    text: `SELECT l.id, l.nombre, l.referencia FROM watch_member m JOIN watch_list l ON l.id = m.list_id
           WHERE m.ruc = $2 AND l.account_id = $1 AND l.deleted_at IS NULL ORDER BY l.id`,
    values: [accountId, ruc],
  });
  return rows;
}

export type AddResult =
  | { ok: true; added: string[]; present: string[] }
  | { ok: false; problem: 'not_found' }
  /** `wanted` is the number of distinct RUCs that the account would watch. */
  | { ok: false; problem: 'too_many'; wanted: number };

/**
 * Adds all the RUCs to a list, or none if the account would then watch more than `maxDistinct` distinct RUCs. Returns
 * the added RUCs, and separately the RUCs that the list had before. The account is locked. Otherwise two calls at once
 * could exceed `maxDistinct` together.
 */
export async function addMembers(
  pool: Pool,
  accountId: number,
  listId: number,
  rucs: readonly string[],
  maxDistinct: number,
): Promise<AddResult> {
  return inTransaction(pool, async (client): Promise<AddResult> => {
    await lockAccount(client, accountId);
    const list = await client.query(
      'SELECT 1 FROM watch_list WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL',
      [accountId, listId],
    );
    if (list.rowCount === 0) return { ok: false, problem: 'not_found' };
    const held = await client.query<{ ruc: string }>(
      'SELECT ruc FROM watch_member WHERE list_id = $1 AND ruc = ANY($2)',
      [listId, rucs],
    );
    const known = new Set(held.rows.map(({ ruc }) => ruc));
    const added = rucs.filter((ruc) => !known.has(ruc));
    if (added.length > 0) {
      const { rows } = await client.query<{ wanted: number }>(
        `SELECT count(*) AS wanted FROM (
           SELECT m.ruc FROM watch_member m JOIN watch_list l ON l.id = m.list_id
           WHERE l.account_id = $1 AND l.deleted_at IS NULL UNION SELECT unnest($2::text[])) AS watched`,
        [accountId, added],
      );
      if (rows[0]!.wanted > maxDistinct) return { ok: false, problem: 'too_many', wanted: rows[0]!.wanted };
      await client.query(
        'INSERT INTO watch_member (list_id, ruc) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING',
        [listId, added],
      );
    }
    return { ok: true, added, present: rucs.filter((ruc) => known.has(ruc)) };
  });
}

/** Reads the list's RUCs above `after`, in order. The caller must have checked that the account owns the list. */
export async function pageMembers(pool: Pool, listId: number, after: string, limit: number) {
  const { rows } = await pool.query<{ ruc: string; added_at: Date }>(
    'SELECT ruc, added_at FROM watch_member WHERE list_id = $1 AND ruc > $2 ORDER BY ruc LIMIT $3',
    [listId, after, limit],
  );
  return rows;
}

/** Removes a RUC from a list. It is no error if the list does not hold the RUC, so the call can be repeated. */
export async function removeMember(pool: Pool, listId: number, ruc: string): Promise<void> {
  await pool.query('DELETE FROM watch_member WHERE list_id = $1 AND ruc = $2', [listId, ruc]);
}
