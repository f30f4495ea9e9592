import type { RegisterName } from '../../schemas/registers.ts';
import type { Archive } from '../archive/archive.ts';
import { inTransaction, type Pool, type PoolClient } from '../runtime/postgres.ts';
import { openStates } from './publications.ts';

/** Most objects that one transaction removes while it holds the register's lock. */
const maxRemovals = 50;

/**
 * Removes from the archive publications' bytes that were downloaded more than `days` days ago, and records this.
 * - Bytes in quarantine stay, because they are verified after an approval.
 * - The head's bytes stay, because a re-baseline reads them.
 * - All bytes stay while a publication of the register is in progress.
 * Resolves with the number of removed objects. Call it again until that number is 0.
 */
export function removeOldPublications(
  pool: Pool,
  archive: Pick<Archive, 'remove'>,
  register: RegisterName,
  days: number,
): Promise<number> {
  return inTransaction(pool, async (client) => {
    // A fetch inserts its row under this lock before it archives bytes. So no fetch can archive these bytes meanwhile.
    await client.query('SELECT 1 FROM register_head WHERE register = $1 FOR UPDATE', [register]);
    const hashes = await removable(client, register, days);
    for (const sha256 of hashes) await archive.remove({ register, kind: 'publications', sha256 });
    // If the process dies before the commit, `removed_at` is still null for removed bytes. A repeat then sets it.
    await client.query('UPDATE publication SET removed_at = now() WHERE register = $1 AND sha256 = ANY ($2)', [
      register,
      hashes,
    ]);
    return hashes.length;
  });
}

/**
 * Returns the hashes of bytes that may be removed. If several publications have the same bytes, all of them count: none
 * may be in quarantine, and the last of them must have been downloaded more than `days` days ago.
 */
async function removable(client: PoolClient, register: RegisterName, days: number): Promise<string[]> {
  const { rows } = await client.query<{ sha256: string }>(
    `SELECT p.sha256 FROM publication p JOIN register_head head USING (register)
     WHERE p.register = $1 AND p.sha256 IS NOT NULL AND p.sha256 IS DISTINCT FROM head.publication_sha256
       AND NOT EXISTS (SELECT 1 FROM publication open WHERE open.register = $1 AND open.state = ANY ($3))
     GROUP BY p.sha256
     HAVING bool_and(p.state <> 'en_cuarentena') AND bool_or(p.removed_at IS NULL)
       AND max(p.downloaded_at) < now() - make_interval(days => $2)
     ORDER BY max(p.downloaded_at) LIMIT $4`,
    [register, days, openStates, maxRemovals],
  );
  return rows.map(({ sha256 }) => sha256);
}
